/**
 * Detects whether the database file is still the one that was opened. A removed or replaced file has another inode. A file that
 * was overwritten in place (`cp backup.db inbox.db`) or truncated differs in its size or in its first page, where the store
 * writes the time (`stampFile` in migrations.ts). SQLite's own change counter does not change in WAL mode.
 *
 * It detects only changes to pages that SQLite has copied from its log into the file. A copy newer than those pages changes
 * nothing, because the log holds everything since.
 */
import { openSync, readSync, statSync } from 'node:fs'
import { APPLICATION_ID, isEarlier } from './migrations.ts'

/** Required consecutive suspicious checks: while SQLite copies its log into the file, the pages are inconsistent. */
const SUSPICIOUS_LOOKS = 3
const PAGE_BYTES = 4_096
const MAGIC = 'SQLite format 3\0'
/** Offsets in the header, big-endian. https://sqlite.org/fileformat2.html#the_database_header */
const PAGE_SIZE_AT = 16
const PAGE_COUNT_AT = 28
const USER_VERSION_AT = 60
const APPLICATION_ID_AT = 68
const HEADER_BYTES = 100

type FirstPage = ReturnType<typeof readFirstPage>

/** Watches a file that was just opened. */
export function watchFile(path: string) {
  const identity = identityOf(path)
  /**
   * Never closed: closing any descriptor of a file releases all locks that the process holds on it, including SQLite's
   * (https://sqlite.org/howtocorrupt.html, section 2.2).
   */
  const descriptor = openSync(path, 'r')
  let known = readFirstPage(path, descriptor)
  let last = known
  let suspicions = 0
  let isOverwritten = false
  let isElsewhere = false

  /** Checks whether the path has another inode, or none. */
  function checkPath(): boolean {
    isElsewhere = identityOf(path) !== identity
    return isOverwritten || isElsewhere
  }

  return {
    /** The file is not the one that was opened: permanently if it was overwritten, otherwise until it is back at its path. */
    get isReplaced() {
      return isOverwritten || isElsewhere
    },
    checkPath,
    /** Checks the path, size, time and first page. Returns whether the file was overwritten. */
    look(): boolean {
      if (checkPath()) return false
      const now = readFirstPage(path, descriptor)
      if (now.size === known.size && now.modifiedNs === known.modifiedNs) return false
      const isBeingWritten = now.size !== last.size || now.modifiedNs !== last.modifiedNs
      last = now
      // Another process that copies a long log into the file writes the first page, with the final size, long before the last.
      if (isBeingWritten && isCut(now)) return false
      suspicions = isAnother(known, now) ? suspicions + 1 : 0
      if (suspicions === 0) known = now
      isOverwritten = suspicions >= SUSPICIOUS_LOOKS
      return isOverwritten
    },
  }
}

/** Whether the file is shorter than its first page says. */
function isCut({ size, bytes }: FirstPage): boolean {
  return bytes !== undefined && size < bytes.readUInt32BE(PAGE_COUNT_AT) * bytes.readUInt16BE(PAGE_SIZE_AT)
}

function isAnother(known: FirstPage, now: FirstPage): boolean {
  if (known.bytes === undefined) return false
  if (now.bytes === undefined) return true
  return (
    now.bytes.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID ||
    now.bytes.readUInt16BE(PAGE_SIZE_AT) !== known.bytes.readUInt16BE(PAGE_SIZE_AT) ||
    isCut(now) ||
    isEarlier(now.bytes.readUInt32BE(USER_VERSION_AT), known.bytes.readUInt32BE(USER_VERSION_AT))
  )
}

/** `bytes`: undefined if it is not the first page of a database. */
function readFirstPage(path: string, descriptor: number) {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  const bytes = Buffer.alloc(PAGE_BYTES)
  const length = readSync(descriptor, bytes, 0, PAGE_BYTES, 0)
  const isPage = length >= HEADER_BYTES && bytes.toString('latin1', 0, MAGIC.length) === MAGIC
  return { size: Number(stats?.size ?? 0), modifiedNs: stats?.mtimeNs ?? 0n, bytes: isPage ? bytes : undefined }
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev}:${stats.ino}`
}
