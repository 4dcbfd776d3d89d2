/** What a failure of the local file means, and what to do about it. */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { MessagingWebhooksError } from '../public/errors.ts'
import { isError, systemCode } from '../runtime/values.ts'
import { resultCode } from '../sqlite/connection.ts'

/** Where the file is, and which option says so. */
export interface FilePlace {
  readonly path: string
  /** The option that names the folder, for messages. */
  readonly option: string
}

const CASES = {
  readOnly: ['spool_unusable', 'The file system is read-only. Mount a writable disk there, or name a folder on one.'],
  forbidden: ['spool_unusable', 'This process may not write there. Give its user the right, or name another folder.'],
  noPermission: [
    'spool_unusable',
    'Node runs with --permission, which forbids syncing a new folder. Create the folder before the start.',
  ],
  noFolder: ['spool_unusable', 'A part of the path is not a folder. Remove it, or name another folder.'],
  noLocks: ['spool_unusable', 'The file system refuses locks, as network mounts do. Name a folder on a local disk.'],
  foreign: [
    'spool_unusable',
    'The file belongs to something else and was not changed. Move it, or name another folder.',
  ],
  newer: ['spool_unusable', 'A newer version of this package wrote the file. Update this package.'],
  unsupported: [
    'store_unsupported',
    `Node ${process.versions.node} has no \`node:sqlite\`. Use Node 22.13 or later, built with SQLite, or set the option to false.`,
  ],
  corrupt: ['spool_damaged', 'SQLite reports that the file is corrupt.'],
  full: ['spool_full', 'The disk is full.'],
  locked: ['spool_locked', undefined],
  replaced: ['spool_replaced', undefined],
  other: ['spool_unusable', undefined],
} as const

type FileCase = keyof typeof CASES

/** An error of this package that names the path and the option. Returns one that is of this package already. */
export function fileError(given: unknown, { path, option }: FilePlace): MessagingWebhooksError {
  if (given instanceof MessagingWebhooksError) return given
  const isCase = typeof given === 'string' && Object.hasOwn(CASES, given)
  // One of the names above.
  const name = isCase ? (given as FileCase) : caseOf(given, path)
  const [code, text] = CASES[name]
  const about = text ?? (isCase ? undefined : textOf(given))
  const detail = about === undefined ? `${path} (${option}).` : `${path} (${option}): ${about}`
  return new MessagingWebhooksError(code, detail, isCase ? undefined : { cause: given })
}

const SYSTEM_CASES: Readonly<Record<string, FileCase>> = {
  EROFS: 'readOnly',
  EACCES: 'forbidden',
  ERR_ACCESS_DENIED: 'noPermission',
  EPERM: 'forbidden',
  ENOTDIR: 'noFolder',
  EEXIST: 'noFolder',
  ENOSPC: 'full',
  EDQUOT: 'full',
  ENOLCK: 'noLocks',
}

/** SQLite's result codes. */
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const NOLFS = 22
const NOTADB = 26
/** Extended codes of IOERR about locks and shared memory. */
const LOCK_CODES = new Set([2058, 2314, 3594, 3850, 4618, 5130, 5386])

function caseOf(error: unknown, path: string): FileCase {
  const code = resultCode(error)
  if (code === undefined) {
    const name = systemCode(error)
    if (name === 'ERR_UNKNOWN_BUILTIN_MODULE' || name === 'ERR_MODULE_NOT_FOUND') return 'unsupported'
    // Node reports a folder that it cannot create on a read-only file system as missing.
    return SYSTEM_CASES[name ?? ''] ?? (name === 'ENOENT' ? whyClosed(path) : 'other')
  }
  if (code === BUSY || code === LOCKED) return 'locked'
  if (code === FULL) return 'full'
  if (code === CORRUPT) return 'corrupt'
  if (code === NOTADB) return 'foreign'
  if (code === PROTOCOL || code === NOLFS) return 'noLocks'
  if (code === IOERR && isFull(dirname(path))) return 'full'
  if (code === IOERR && LOCK_CODES.has(Number(isError(error) && 'errcode' in error ? error.errcode : 0)))
    return 'noLocks'
  if (code === READONLY || code === CANTOPEN) return whyClosed(path)
  return 'other'
}

/** SQLite does not say why it cannot open or write a file. */
function whyClosed(path: string): FileCase {
  try {
    accessSync(existingFolder(dirname(path)), constants.W_OK)
    accessSync(path, constants.R_OK | constants.W_OK)
    return 'other'
  } catch (error) {
    return SYSTEM_CASES[systemCode(error) ?? ''] ?? 'other'
  }
}

function existingFolder(path: string): string {
  const parent = dirname(path)
  return existsSync(path) || parent === path ? path : existingFolder(parent)
}

const MIN_FREE_BYTES = 64 * 1024

/** SQLite reports a full disk under its shared memory as another failure. */
function isFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize < MIN_FREE_BYTES
  } catch {
    return false
  }
}

/** SQLite's own text, such as "disk I/O error", contains neither a path nor a value. */
function textOf(error: unknown): string {
  const name = systemCode(error)
  if (resultCode(error) !== undefined && isError(error)) return `SQLite: ${error.message}.`
  return name === undefined ? 'An unknown error.' : `System error: ${name}.`
}
