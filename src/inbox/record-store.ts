/**
 * The store contract. A store reads, compares and writes records, and keeps a few indexes of them. It decides nothing: the decisions are in
 * `src/messages/`, and `src/inbox/runtime/` applies them to a store of either kind.
 *
 * Corruption. What a store holds may be changed without it: by another tool, a failing disk, a later version. One record never harms
 * another:
 * - A payload that cannot be read is answered as `corrupt`, with what is left of it, and its event becomes a dead letter.
 * - A record that cannot be read is made anew of the payloads that are left (`src/messages/restore.ts`): a repetition, and not a loss. It
 *   is written at once and reported once, as `state_damaged` with the key and the part, and never a value.
 * - A record of a later version is left alone: `read` answers `newer` for it, `due` puts it off and reports `store_newer`.
 * - Scans report and repair nothing, and leave out what is of a later version.
 */
import type { MessageRecord, PayloadChange } from '../messages/record.ts'
import type { EventRecord } from '../messages/event-record.ts'
import type { NEWER } from './runtime/codec.ts'
import type { Awaitable, EventFilter, NewEvent, StoreCounts } from './store.ts'

/** The record and the masked body of an event, stored beside the record of its message. */
export interface Payload {
  readonly id: string
  readonly record: EventRecord
  readonly raw: Buffer
  /** What the handlers threw last; of a dead letter alone. */
  readonly error: string | undefined
  /** Where it cannot be read, such as `payloads.record`; then `record` and `raw` are what is left. */
  readonly corrupt?: string
}

/** Identifies an event: the key of its record, and its id. */
export interface EventPlace {
  readonly key: string
  readonly id: string
}

/** An event that is likely to run: without a payload here, that is read while the lease is written. */
export interface LikelyEvent extends EventPlace {
  readonly payload: Payload | undefined
}

/** Which records may be leased now. */
export interface DueRequest {
  readonly limit: number
  readonly nowMs: number
  /** Keys that this process must not run now. */
  readonly exclude: ReadonlySet<string>
}

/** `next`: pass it as `after` to go on; undefined on the last page. */
export interface Scanned<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
  /** Where a bounded look ended before the page was full: nothing that it passed over is younger. */
  readonly lookedBackToMs?: number
}

/** A page: `after` is the `next` of the one before; undefined for the first. */
export interface ScanRequest {
  readonly after: string | undefined
  readonly limit: number
}

/** An event as a scan finds it: `record` is that of its message. */
export interface ScannedEvent extends EventPlace {
  /** When it was admitted, or the last time known of it. */
  readonly atMs: number
  /** Pass it as `after` to go on behind this one. */
  readonly place: string
  readonly record: MessageRecord
  readonly payload: Payload | undefined
}

/** A record as a scan finds it, with its payloads where the scan is of all records. */
export interface ScannedRecord {
  readonly key: string
  readonly place: string
  readonly record: MessageRecord
  readonly payloads: readonly Payload[]
}

/** Events of one message (`key`), or with one `id`, or all. */
export interface EventScan extends ScanRequest {
  readonly key: string | undefined
  readonly id: string | undefined
  /** What `isMeant` asks for: an engine may leave out what cannot match. */
  readonly filter: EventFilter
  /** Decides whether an event is on the page. */
  readonly isMeant: (event: ScannedEvent) => boolean
}

/** The indexes that every store keeps. Each scan is bounded by `limit`; what changes between two pages may be on both or on neither. */
export interface Indexes {
  /**
   * Keys of records whose `dueMsOf` is past, the earliest first, and when the next is due. A shared store reserves what it
   * returns for 5 s, so that others do not contend for it.
   */
  due(request: DueRequest): Awaitable<{
    readonly keys: readonly string[]
    readonly nextDueMs: number | undefined
    /** Of each of them the event that is likely to run, where that is known: its payload is read by then. */
    readonly likely?: readonly LikelyEvent[] | undefined
  }>
  /** Keys of records whose `send.overdueAtMs` is past, the earliest first, and when the next is overdue. */
  overdue(request: {
    readonly nowMs: number
    readonly limit: number
  }): Awaitable<{ readonly keys: readonly string[]; readonly nextMs: number | undefined }>
  /** The stored payloads of these events, in their order. */
  payloads(places: readonly EventPlace[]): Awaitable<readonly (Payload | undefined)[]>
  /** The ids of the events of which each of these records has a stored payload. */
  payloadsOf(keys: readonly string[]): Awaitable<readonly (readonly string[])[]>
  /** Keys of records whose `of` is this key. */
  overflowOf(key: string): Awaitable<readonly string[]>
  /** The key of the record that has this dead letter. */
  keyOfDeadLetter(id: string): Awaitable<string | undefined>
  /** Events that `isMeant`, newest first; of one message, or one event, where these are given. It looks at a bounded number. */
  scanEvents(request: EventScan): Awaitable<Scanned<ScannedEvent>>
  /** Dead letters, oldest first. */
  scanDeadLetters(request: ScanRequest): Awaitable<Scanned<ScannedEvent>>
  /** Records with a send, by `sentAtMs`, from `fromMs` on and before `toMs`. */
  scanSends(
    request: ScanRequest & { readonly fromMs: number; readonly toMs: number; readonly newestFirst: boolean },
  ): Awaitable<Scanned<ScannedRecord>>
  /** All records with their payloads, in any order. */
  scanRecords(request: ScanRequest): Awaitable<Scanned<ScannedRecord>>
  /** Keys of records of which something may be past its retention, at most `limit`. */
  aged(nowMs: number, limit: number): Awaitable<readonly string[]>
  readonly counts: () => Awaitable<StoreCounts>
  /** Overwrites traces of erased data in free pages. */
  compact?(): Awaitable<void>
  readonly close: () => Awaitable<void>
}

/** What a write does to one record. */
export interface Change {
  readonly key: string
  /** The record that was decided about; undefined where there was none. */
  readonly before: MessageRecord | undefined
  /** Undefined: the record goes, with its payloads. */
  readonly after: MessageRecord | undefined
  readonly payloads: readonly PayloadChange[]
  /** The payload of this event is stored. */
  readonly admitted: NewEvent | undefined
}

/** Asks a write whether sends are pending. */
export interface PendingLook {
  /** Ignores sends that have been pending since this time or longer. */
  readonly afterMs: number
  /** Receives the least `pendingMark` above `afterMs`; undefined if there is none. */
  readonly onAnswer: (sinceMs: number | undefined) => void
}

/** A store that nobody else changes while it is asked: memory, and SQLite within a transaction. */
export interface LocalStore extends Indexes {
  /** With `nowMs`, an event is admitted then: what has expired by then may be left out. */
  read(key: string, nowMs?: number): MessageRecord | typeof NEWER | undefined
  /** Whether another event may be stored. */
  hasRoom(event: NewEvent): boolean
  write(change: Change): void
  /** The least `pendingMark` above this time. Optional for a store of one process. */
  pendingSince?(afterMs: number): number | undefined
}

/** A record as a shared store has it. The version changes with each write, and is compared for equality only. */
export interface Versioned {
  readonly version: number
  readonly record: MessageRecord
}

/** What a write does to one record, if the stored version is still `expected`; undefined: if there is none. */
export interface VersionedChange extends Omit<Change, 'admitted'> {
  readonly expected: number | undefined
  /** The payloads of these events are stored. */
  readonly admitted: readonly NewEvent[]
}

/** A store that other processes change, too. */
export interface SharedStore extends Omit<Indexes, 'due'> {
  /** As `due` of every store; and the records, where they were read with it. */
  due(request: DueRequest): Promise<{
    readonly keys: readonly string[]
    readonly nextDueMs: number | undefined
    readonly found: ReadonlyMap<string, Versioned>
    /** By the same keys: payloads of the events that wait first, where they were read with the records. */
    readonly payloads?: ReadonlyMap<string, Payload>
  }>
  /** The records of these keys that there are. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned | typeof NEWER>>
  /**
   * Writes each change that still applies, all of it or nothing, durably; answers its new version, or undefined where it did not
   * apply. Changes of one call are not atomic together: where it rejects, any of them may have been written. Rejects with a
   * `ClockJump`, and writes nothing, where the store's clock is more than 2 s from `asOfMs`.
   *
   * With `pending` it also answers that question, as of this write or a moment before. Optional: without the answer, no report waits for
   * sends of other processes.
   */
  write(
    changes: readonly VersionedChange[],
    asOfMs: number | undefined,
    pending?: PendingLook,
  ): Promise<readonly (number | undefined)[]>
}

/** The store's clock is not where it was when the change was decided; nothing was written. */
export class ClockJump extends Error {
  override readonly name = 'ClockJump'
}
