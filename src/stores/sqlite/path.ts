/** The path of a database file, as the store and the command line read it. SQLite itself would read some of these forms otherwise. */
import { fileURLToPath } from 'node:url'
import { OptionsError } from '../../public/errors.ts'

const FORM = /^(file|sqlite):(.*)$/is
/** At least two letters, because `C:` is a drive. */
const OTHER_ADDRESS = /^[a-z][a-z\d+.-]+:\/\//i

/**
 * Reads a path, `file:` with a path or a URL of a file, and `sqlite:` with a path. Throws an `OptionsError` for other addresses, for
 * parameters, and for a database in memory. `where`: the subject of its message.
 */
export function databasePath(given: string, where: string): string {
  const path = pathIn(given, where)
  if (path === ':memory:' || path === '')
    throw new OptionsError(`${where}: path names no file. For a store in memory, use memoryStore().`)
  return path
}

function pathIn(given: string, where: string): string {
  const [, scheme, rest = ''] = FORM.exec(given) ?? []
  if (scheme === undefined) {
    // Does not repeat it: an address may contain a password.
    if (OTHER_ADDRESS.test(given)) throw new OptionsError(`${where}: path is an address, but not of a file.`)
    return given
  }
  if (/[?#]/.test(rest))
    throw new OptionsError(`${where}: path is a URI with parameters. Give the path of the file alone.`)
  if (scheme.toLowerCase() === 'sqlite') return rest.replace(/^\/\//, '')
  try {
    return rest.startsWith('//') ? fileURLToPath(given) : decodeURIComponent(rest)
  } catch {
    throw new OptionsError(`${where}: path is not a URL of a file on this machine.`)
  }
}
