/** One file of events: its state, how its events are read and erased, and what remains of an erased one. */
import { systemCode, writeAll, type FileSystem, type OpenedFile } from '../../disk-log/file-system.ts'
import { findLogFile, type LogFile, type LogFileName, type LogKind } from '../../disk-log/log-file.ts'
import { encodeRecord } from '../../disk-log/record.ts'
import { countRecords, nextRecord, recordsIn, windowOver } from '../../disk-log/scan.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { NewEvent } from '../../messages/event-record.ts'
import type { EventRecord } from '../../messages/event-record.ts'
import { NO_PLACE } from '../../messages/order.ts'

/** The content of an overwritten record. */
interface Identity extends Pick<NewEvent, 'id' | 'messageKey'> {
  readonly forgotten: true
}

export const EVENT_LOG: LogKind<NewEvent> = {
  extension: 'segment',
  // "mw" between a byte that never occurs in UTF-8 and the version.
  magic: Buffer.from([0xf5, 0x6d, 0x77, 0x01]),
  end: Buffer.from([0x0a]),
  synced: true,
  write(event) {
    const { raw, ...fields } = event
    const { id, messageKey } = fields
    return {
      fields: isForgotten(event) ? ({ id, messageKey, forgotten: true } satisfies Identity) : fields,
      bytes: raw,
    }
  },
  read(written, bytes) {
    // The checksum proves that `write` returned this.
    const fields = written as Omit<NewEvent, 'raw'> | Identity
    return 'forgotten' in fields ? forgottenEvent(fields) : { ...fields, raw: Buffer.from(bytes) }
  },
}

export interface Segment {
  readonly file: Pick<LogFile, 'path' | 'salt' | 'end'>
  /** Events before this position are in the store. */
  read: number
  /** Corruption before this position was reported. */
  checked: number
  /** Records between `read` and the end. */
  held: number
  /** Whether the disk failed to read a part of it. A later read may succeed. */
  unreadable: boolean
  /** Number of overwrites. Each one makes cached reads stale. */
  rewrites: number
}

type Window = ReturnType<typeof windowOver>

/** Whether an event is to be erased. */
export type IsMeant = (event: NewEvent) => boolean

interface EmptyOptions {
  readonly fs: FileSystem
  readonly take: (events: readonly NewEvent[]) => Promise<void>
  readonly report: (error: MessagingWebhooksError) => void
  /** Throws if the spool was closed, which stops the emptying. */
  readonly checkOpen: () => void
  /** Prevents an erasure between the read of a batch and its write into the store. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
}

interface Batch {
  readonly events: readonly NewEvent[]
  /** The position of the next batch. */
  readonly next: number
  /** Positions of corrupt records. */
  readonly lost: readonly number[]
}

const MAX_A_BATCH = 256
const MAX_BYTES_A_BATCH = 1024 * 1024

export function newSegment(file: Segment['file']): Segment {
  return { file, read: 0, checked: 0, held: 0, unreadable: false, rewrites: 0 }
}

/** A segment of another process. */
export async function findSegment(fs: FileSystem, folder: string, name: LogFileName): Promise<Segment> {
  const found = await findLogFile(fs, folder, name, EVENT_LOG)
  const segment = newSegment(found)
  const file = await fs.open(found.path, 'r')
  try {
    const window = windowOver(file, found.end, () => (segment.unreadable = true))
    segment.held = await countRecords(window, found, EVENT_LOG.magic)
    return segment
  } finally {
    await file.close()
  }
}

/** Passes the events of the segment to `take` in batches. If `take` rejects, its batch and the rest stay. */
export async function emptySegment(segment: Segment, options: EmptyOptions): Promise<void> {
  let file: OpenedFile
  try {
    file = await options.fs.open(segment.file.path, 'r')
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    // Retrying would not restore the file, and later segments still have to be read.
    options.report(new MessagingWebhooksError('spool_damaged', 'A file is missing.', { cause: error }))
    segment.read = segment.file.end
    segment.held = 0
    return
  }
  try {
    await emptyFile(file, segment, options)
  } finally {
    await file.close()
  }
}

async function emptyFile(file: OpenedFile, segment: Segment, options: EmptyOptions): Promise<void> {
  const { end } = segment.file
  const newWindow = (): Window => windowOver(file, end, () => (segment.unreadable = true))
  let window = newWindow()
  let { rewrites } = segment
  segment.unreadable = segment.unreadable && segment.read > 0
  while (segment.read < end)
    await options.inTurn(() => {
      if (rewrites !== segment.rewrites) window = newWindow()
      rewrites = segment.rewrites
      return emptyBatch(window, segment, end, options)
    })
}

async function emptyBatch(
  window: Window,
  segment: Segment,
  end: number,
  { take, report, checkOpen }: EmptyOptions,
): Promise<void> {
  const { events, next, lost } = await readBatch(window, segment, end)
  // Report a batch that is read again only once.
  const places = lost.filter((position) => position >= segment.checked).length
  if (places > 0) report(new MessagingWebhooksError('spool_damaged', corruptionOf(places, segment)))
  segment.checked = next
  checkOpen()
  if (events.length > 0) await take(events)
  segment.read = next
  // Records that were counted but could not be read are gone.
  segment.held = next === segment.file.end ? 0 : Math.max(0, segment.held - events.length)
}

/**
 * Overwrites matching records, including those already in the store, because the file stays until its last record is. Only the
 * identity remains, in a record of the same length. Returns how many were not in the store yet.
 */
export async function forgetInSegment(
  segment: Segment,
  { fs, isMeant, dryRun }: { readonly fs: FileSystem; readonly dryRun: boolean; readonly isMeant: IsMeant },
): Promise<number> {
  const { path, salt, end } = segment.file
  let file: OpenedFile
  try {
    file = await fs.open(path, 'r+')
  } catch (error) {
    // All its events are in the store already.
    if (systemCode(error) === 'ENOENT') return 0
    throw error
  }
  let count = 0
  let erased = 0
  try {
    const window = windowOver(file, end)
    for await (const found of recordsIn(window, { from: 0, end, salt }, EVENT_LOG)) {
      if (found.kind !== 'record' || isForgotten(found.value) || !isMeant(found.value)) continue
      if (found.at >= segment.read) count += 1
      if (!dryRun) await writeAll(file, identityRecord(found.value, found.next - found.at, salt), found.at)
      erased += 1
    }
    if (erased > 0 && !dryRun) await file.datasync()
  } finally {
    await file.close()
    if (erased > 0 && !dryRun) segment.rewrites += 1
  }
  return count
}

/** The replacement for a record of this length. It has fewer fields, so zeros fill the rest. */
function identityRecord(event: NewEvent, length: number, salt: number): Buffer {
  const identity = forgottenEvent(event)
  const filled = length - encodeRecord(EVENT_LOG, identity, salt).length
  return encodeRecord(EVENT_LOG, { ...identity, raw: Buffer.alloc(Math.max(0, filled)) }, salt)
}

async function readBatch(window: Window, { file: { salt }, read }: Segment, end: number): Promise<Batch> {
  const events: NewEvent[] = []
  const lost: number[] = []
  let from = read
  while (from < end && events.length < MAX_A_BATCH && from - read < MAX_BYTES_A_BATCH) {
    const found = await nextRecord(window, { from, end, salt }, EVENT_LOG)
    if (found.kind === 'record') events.push(found.value)
    else if (found.kind === 'damage') lost.push(from)
    from = found.next
  }
  return { events, next: from, lost }
}

function corruptionOf(places: number, { unreadable }: Segment): string {
  const skipped = `Skipped ${places} corrupt part(s) of a file.`
  return unreadable
    ? `${skipped} The disk could not read them, so the file is kept and read again at the next start.`
    : skipped
}

/** No report completes this step, so the event waits until the store has erased it. */
const NEVER = 64
/** 1970, which reveals nothing about the arrival. */
const NO_TIME = 0

const NO_RECORD: EventRecord = {
  project: undefined,
  kind: undefined,
  timestamp: NO_TIME,
  timestampSource: 'arrival',
  receivedAtMs: NO_TIME,
  proof: 'authKey',
  problem: 'damaged',
}

/** What remains of an event that was erased before it reached the store. It is enough to recognise a duplicate. */
function forgottenEvent({ id, messageKey }: Pick<NewEvent, 'id' | 'messageKey'>): NewEvent {
  const raw = Buffer.alloc(0)
  return {
    id,
    messageKey,
    ...NO_PLACE,
    awaits: NEVER,
    reorderWaitMs: 0,
    record: NO_RECORD,
    raw,
  }
}

export function isForgotten({ awaits }: NewEvent): boolean {
  return awaits === NEVER
}
