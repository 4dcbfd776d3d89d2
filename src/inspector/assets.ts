/** The page's files: a fixed table, read once; no path of a request ever reaches the disk. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { answer, problem, type Answer } from './server.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const INDEX = 'index.html'
const PAGE = new URL('./page/', import.meta.url)

interface Asset {
  readonly body: Buffer
  readonly type: string
  readonly etag: string
}

export interface Assets {
  /** The one page there is. */
  index(ifNoneMatch: string | null): Answer
  /** Undefined where there is no such file. */
  file(name: string, ifNoneMatch: string | null): Answer | undefined
}

/** Of the folder, where it holds the page as it is built. */
export function createAssets(folder: URL = PAGE): Assets {
  let table: ReadonlyMap<string, Asset> | undefined

  function filesOf(): ReadonlyMap<string, Asset> {
    table ??= read(folder)
    return table
  }

  function send(found: Asset, ifNoneMatch: string | null): Answer {
    const { body, type, etag } = found
    // Asked anew each time, and mostly answered in a line.
    const headers = { etag, 'cache-control': 'private, no-cache' }
    if (ifNoneMatch === etag) return answer(304, headers)
    return answer(200, { ...headers, 'content-type': type }, { body })
  }

  return {
    index(ifNoneMatch) {
      const found = filesOf().get(INDEX)
      const isBuilt = found !== undefined && [...filesOf().keys()].some((name) => name.endsWith('.js'))
      if (isBuilt) return send(found, ifNoneMatch)
      return problem(503, 'page_not_built', 'The page of the inspector is not built here: run `npm run build` first.')
    },
    file(name, ifNoneMatch) {
      const found = filesOf().get(name)
      return found && send(found, ifNoneMatch)
    },
  }
}

function read(folder: URL): ReadonlyMap<string, Asset> {
  const files = new Map<string, Asset>()
  for (const name of namesIn(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const body = readFileSync(new URL(name, folder))
    files.set(name, { body, type, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` })
  }
  return files
}

function namesIn(folder: URL): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
