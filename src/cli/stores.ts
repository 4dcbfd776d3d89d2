/** Opens the store that a URL names. */
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Store } from '../inbox/store.ts'
import { CliError } from './exit-codes.ts'

/** One row a scheme; each loads its store when it is asked for, so that no driver is needed for another's. */
const STORES: Readonly<Record<string, (url: string) => Promise<Store>>> = {
  sqlite: async (url) => sqliteFile(url.slice('sqlite:'.length).replace(/^\/\//, '')),
  file: async (url) => sqliteFile(fileURLToPath(url)),
}

/** What may be given, for help and mistakes. */
export const STORE_FORMS = ['the path of an SQLite file', ...Object.keys(STORES).map((scheme) => `${scheme}:…`)].join(
  ', ',
)

/** A URL, or a path, which is an SQLite file's. Throws a `CliError` for a scheme that no store has. */
export async function storeOf(url: string): Promise<Store> {
  // A scheme has at least two letters: `C:` is a drive.
  const scheme = /^([a-z][a-z+.-]+):/i.exec(url)?.[1]?.toLowerCase()
  if (scheme === undefined) return sqliteFile(url)
  const open = new Map(Object.entries(STORES)).get(scheme)
  // The URL itself is not repeated: it may hold a password.
  if (open === undefined)
    throw new CliError('usage', `There is no store for “${scheme}:”.`, `There are: ${STORE_FORMS}.`)
  return open(url)
}

async function sqliteFile(path: string): Promise<Store> {
  // The store would make the file; somebody who looks for dead letters has one.
  if (!statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new CliError('failed', 'There is no such SQLite file.', `Looked for ${path}; --store takes ${STORE_FORMS}.`)
  const { sqliteStore } = await import('../stores/sqlite/store.ts')
  return sqliteStore(path)
}
