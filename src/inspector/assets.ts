/** Serves the page's files from a fixed table, read once. No path of a request reaches the disk. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { nothingThere, Refused, reply } from './server.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const PAGE = new URL('./page/', import.meta.url)

export function createAssets(): (name: string, ifNoneMatch: string | null) => Response {
  let files: ReturnType<typeof readFiles> | undefined
  return (name, ifNoneMatch) => {
    files ??= readFiles()
    if (name === 'index.html' && !files.has('main.js'))
      throw new Refused(503, 'page_not_built', 'The page of the inspector is not built: run `npm run build`.')
    const found = files.get(name)
    if (found === undefined) throw nothingThere()
    const { body, type, etag } = found
    // The browser revalidates with each request, and usually gets a 304.
    const headers = { etag, 'cache-control': 'private, no-cache' }
    return ifNoneMatch === etag ? reply(304, headers) : reply(200, { ...headers, 'content-type': type }, body)
  }
}

function readFiles() {
  const names = existsSync(PAGE) ? readdirSync(PAGE) : []
  const files = names.map((name) => {
    const body = readFileSync(new URL(name, PAGE))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    return [name, { body, type: TYPES[extname(name)] ?? '', etag }] as const
  })
  // Skips the TypeScript sources of the page.
  return new Map(files.filter(([, { type }]) => type !== ''))
}
