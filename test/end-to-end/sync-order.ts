/**
 * Checks the order of writes, syncs and answers that survives a power failure, from the system calls of a process.
 *
 * Every event has a mark in its body. The mark must be written to a file and the file synced before its callback is
 * answered. Data of a failed sync counts as lost and must be written again. A log of SQLite counts as written up
 * to its last commit.
 */
import { dirname } from 'node:path'
import type { TraceLine } from './strace.ts'

const MARK = /mark-\d{6}/g

export function markOf(number: number): string {
  return `mark-${String(number).padStart(6, '0')}`
}

export type Violation =
  | 'answered before the sync'
  | 'answered before the sync of the folder'
  | 'row removed before the store had it'
  | 'database written from a log that is not synced'
  | 'log restarted before the database was synced'

export interface SyncOrder {
  /** The number of 204 answers, and of those that were matched with a mark. */
  readonly seen: number
  readonly checked: number
  readonly syncs: number
  readonly failedSyncs: number
  readonly logsRestarted: number
  /** Events that have left the spool. */
  readonly rowsRemoved: number
  readonly violations: Readonly<Partial<Record<Violation, number>>>
}

interface File {
  /** Marks in a transaction that is not committed. */
  open: Set<string>
  written: Set<string>
  readonly durable: Set<string>
  /** Written to since the last sync. */
  dirty: boolean
  /** The offset of the log page that completes a transaction. */
  commitAt: number | undefined
  /** Of a log: the page that is written next, and the marks on each page. */
  page: number
  readonly pages: Map<number, readonly string[]>
  /** The marks of the last commit. */
  committed: ReadonlySet<string>
}

const FRAME_HEADER_BYTES = 24
const LOG_HEADER_BYTES = 32
const SUCCEEDED = /\) += 0\b/

/** `root` is the folder that holds all data. */
export async function checkSyncOrder(lines: AsyncIterable<TraceLine>, root: string): Promise<SyncOrder> {
  const files = new Map<string, File>()
  /** Folder entries that a power failure may remove. */
  const unsyncedEntries = new Set<string>()
  const requests = new Map<string, string>()
  const answered = new Set<string>()
  const syncing = new Map<string, { readonly marks: Set<string>; readonly entries: readonly string[] }>()
  const counts = { seen: 0, checked: 0, syncs: 0, failedSyncs: 0, logsRestarted: 0, rowsRemoved: 0 }
  const violations: Partial<Record<Violation, number>> = {}

  function violated(what: Violation): void {
    violations[what] = (violations[what] ?? 0) + 1
  }

  function fileOf(path: string): File {
    const known = files.get(path)
    if (known !== undefined) return known
    const [open, written, durable] = [new Set<string>(), new Set<string>(), new Set<string>()]
    const file: File = {
      open,
      written,
      durable,
      dirty: false,
      commitAt: undefined,
      page: 0,
      pages: new Map(),
      committed: new Set(),
    }
    files.set(path, file)
    return file
  }

  function entriesOf(path: string): readonly string[] {
    return path === root || !path.startsWith(root) ? [] : [path, ...entriesOf(dirname(path))]
  }

  function holders(mark: string): readonly string[] {
    return [...files].filter(([, { durable }]) => durable.has(mark)).map(([path]) => path)
  }

  function written({ target, text }: TraceLine): void {
    const file = fileOf(target)
    const marks = text.match(MARK) ?? []
    file.dirty = true
    if (isDatabase(target) && files.get(`${target}-wal`)?.dirty === true)
      violated('database written from a log that is not synced')
    if (!target.endsWith('-wal')) {
      for (const mark of marks) file.written.add(mark)
      return
    }
    const [length, offset] = lengthAndOffset(text)
    if (length === LOG_HEADER_BYTES && offset === 0 && file.durable.size > 0) {
      counts.logsRestarted += 1
      if (files.get(target.slice(0, -'-wal'.length))?.dirty === true)
        violated('log restarted before the database was synced')
    }
    if (length === FRAME_HEADER_BYTES && commits(text)) file.commitAt = offset + FRAME_HEADER_BYTES
    if (length === FRAME_HEADER_BYTES) file.page = pageIn(text)
    for (const mark of marks) file.open.add(mark)
    if (length > LOG_HEADER_BYTES) file.pages.set(file.page, marks)
    if (file.commitAt !== offset) return
    if (isSpool(target)) rowsRemoved(file)
    file.commitAt = undefined
    for (const mark of file.open) file.written.add(mark)
    file.open = new Set()
  }

  function syncBegins({ thread, target }: TraceLine): void {
    const file = fileOf(target)
    const entries = [...unsyncedEntries].filter((path) => dirname(path) === target)
    syncing.set(thread, { marks: file.written, entries })
    file.written = new Set()
    file.dirty = false
  }

  function syncEnds({ thread, target, text }: TraceLine): void {
    const file = fileOf(target)
    const { marks, entries } = syncing.get(thread) ?? { marks: [], entries: [] }
    counts.syncs += 1
    if (!SUCCEEDED.test(text)) {
      counts.failedSyncs += 1
      file.dirty = true
      return
    }
    for (const mark of marks) file.durable.add(mark)
    for (const path of entries) unsyncedEntries.delete(path)
  }

  function answers({ target }: TraceLine): void {
    counts.seen += 1
    const mark = requests.get(target)
    if (mark === undefined) return
    requests.delete(target)
    counts.checked += 1
    answered.add(mark)
    const paths = holders(mark)
    if (paths.length === 0) violated('answered before the sync')
    else if (paths.every((path) => entriesOf(path).some((entry) => unsyncedEntries.has(entry))))
      violated('answered before the sync of the folder')
  }

  function removed(path: string): void {
    files.delete(path)
    unsyncedEntries.delete(path)
  }

  /** At a commit of the spool. Compares whole transactions, because rows move between pages. */
  function rowsRemoved(file: File): void {
    const after = new Set([...file.pages.values()].flat())
    for (const mark of file.committed) {
      if (after.has(mark)) continue
      counts.rowsRemoved += 1
      if (answered.has(mark) && !holders(mark).some((path) => !isSpool(path)))
        violated('row removed before the store had it')
    }
    file.committed = after
  }

  function renamed(from: string, to: string): void {
    const file = files.get(from)
    if (file !== undefined) files.set(to, file)
    files.delete(from)
    unsyncedEntries.delete(from)
    unsyncedEntries.add(to)
  }

  for await (const line of lines) {
    const { call, begins, ends, target, text } = line
    if (call === 'fsync' || call === 'fdatasync') {
      if (begins) syncBegins(line)
      if (ends) syncEnds(line)
    } else if (target.startsWith('socket:')) {
      const [mark] = text.match(MARK) ?? []
      if (call === 'read' && ends && mark !== undefined) requests.set(target, mark)
      if (call !== 'read' && begins && text.includes('HTTP/1.1 204 ')) answers(line)
    } else if (target.startsWith(`${root}/`)) {
      if (ends && call !== 'read' && call !== 'ftruncate') written(line)
    } else if (call === 'openat') {
      const opened = /\) += \d+<([^>]*)>$/.exec(text)?.[1] ?? ''
      if (ends && text.includes('O_CREAT') && opened.startsWith(root) && !files.has(opened)) {
        fileOf(opened)
        unsyncedEntries.add(opened)
      }
    } else if (ends && SUCCEEDED.test(text)) {
      const [first = '', second = ''] = [...text.matchAll(/"([^"]*)"/g)].map(([, path]) => path)
      if (call === 'mkdir') unsyncedEntries.add(first)
      if (call === 'unlink') removed(first)
      if (call === 'rename') renamed(first, second)
    }
  }
  return { ...counts, violations }
}

function isDatabase(path: string): boolean {
  return path.endsWith('.db')
}

function isSpool(path: string): boolean {
  return path.includes('/local.db')
}

function lengthAndOffset(text: string): readonly [length: number, offset: number] {
  const [, length, offset] = /, (\d+), (\d+)\) += \d+/.exec(text.slice(-60)) ?? []
  return [Number(length), Number(offset)]
}

/** Bytes 4 to 7 of a frame's header are the size of the database after a commit, and zeros before it. */
function commits(text: string): boolean {
  return bytesIn(text)
    .slice(4, 8)
    .some((byte) => byte !== 0)
}

/** Bytes 0 to 3 of a frame's header. */
function pageIn(text: string): number {
  return Buffer.from(bytesIn(text).slice(0, 4)).readUInt32BE()
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, v: 11, f: 12 }

/** The first bytes of a string as strace writes it. */
function bytesIn(text: string): readonly number[] {
  const found = text.slice(text.indexOf('"') + 1, 200).match(/\\[0-7]{1,3}|\\.|[^"\\]/g) ?? []
  return found.map((byte) => {
    const escaped = byte.slice(1)
    if (!byte.startsWith('\\')) return byte.charCodeAt(0)
    return /^[0-7]/.test(escaped) ? parseInt(escaped, 8) : (ESCAPES[escaped] ?? escaped.charCodeAt(0))
  })
}
