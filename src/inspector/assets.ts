/** The page's files: a fixed table, read once. No path of a request reaches the disk. */
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

/** Answers a file by its name. `index.html` is the only page. */
export function createAssets(): (name: string, ifNoneMatch: string | null) => Response {
  let files: ReadonlyMap<string, { readonly body: Buffer; readonly type: string; readonly etag: string }> | undefined

  return (name, ifNoneMatch) => {
    files ??= new Map(
      (existsSync(PAGE) ? readdirSync(PAGE) : []).flatMap((file) => {
        const type = TYPES[extname(file)]
        if (type === undefined) return []
        const body = readFileSync(new URL(file, PAGE))
        const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
        return [[file, { body, type, etag }]]
      }),
    )
    if (name === 'index.html' && !files.has('main.js'))
      throw new Refused(
        503,
        'page_not_built',
        'The page of the inspector is not built here: run `npm run build` first.',
      )
    const found = files.get(name)
    if (found === undefined) throw nothingThere()
    const { body, type, etag } = found
    // Revalidated with each request, which is usually answered 304.
    const headers = { etag, 'cache-control': 'private, no-cache' }
    return ifNoneMatch === etag ? reply(304, headers) : reply(200, { ...headers, 'content-type': type }, body)
  }
}
