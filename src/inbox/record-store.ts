/**
 * The store contract. A store reads, compares and writes records, and maintains a few indexes of them. It makes no decisions:
 * `src/messages/` makes them, and `src/inbox/runtime/` applies them to either kind of store.
 *
 * Corruption. Another tool or a failing disk may change stored data. One record never affects another: a payload that cannot be read
 * is returned as `corrupt`, and its event becomes a dead letter; a record that cannot be read is returned as `unreadableRecord`.
 */
import type { MessageRecord, PayloadChange } from '../messages/record.ts'
import type { EventRecord } from '../messages/event-record.ts'
import type { Awaitable, EventFilter, NewEvent, StoreCounts } from './store.ts'

/** The record and masked body of an event, stored beside the record of its message. */
export interface Payload {
  readonly id: string
  readonly record: EventRecord
  readonly raw: Buffer
  /** The last error of the handlers. Dead letters only. */
  readonly error: string | undefined
  /** Names the unreadable part, for example `payloads.record`. `record` and `raw` then hold what is left. */
  readonly corrupt?: string
}

/** Identifies an event by the key of its record and its id. */
export interface EventPlace {
  readonly key: string
  readonly id: string
}

/** An event that will probably run. A missing payload is read while the lease is written. */
export interface LikelyEvent extends EventPlace {
  readonly payload: Payload | undefined
}

/** A request for records that may be leased now. */
export interface DueRequest {
  readonly limit: number
  readonly nowMs: number
  /** Keys with handlers that run or hang in this process. */
  readonly exclude: ReadonlySet<string>
}

/** Pass `next` as `after` to get the next page. It is undefined on the last page. */
export interface Scanned<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
  /** Set if a bounded search ended before the page was full: it skipped nothing younger than this. */
  readonly lookedBackToMs?: number
}

/** A request for a page. `after` is the `next` of the previous page, undefined for the first page. */
export interface ScanRequest {
  readonly after: string | undefined
  readonly limit: number
}

/** An event found by a scan. `record` is that of its message. */
export interface ScannedEvent extends EventPlace {
  /** The time of admission, or the latest known time. */
  readonly atMs: number
  /** Pass it as `after` to continue after this event. */
  readonly place: string
  readonly record: MessageRecord
  readonly payload: Payload | undefined
}

/** A record found by a scan, with its payloads if the scan covers all records. */
export interface ScannedRecord {
  readonly key: string
  readonly place: string
  readonly record: MessageRecord
  readonly payloads: readonly Payload[]
}

/** Events of one message (`key`), events with one `id`, or all. */
export interface EventScan extends ScanRequest {
  readonly key: string | undefined
  readonly id: string | undefined
  /** The criteria of `isMeant`. An engine may use them to skip events that cannot match. */
  readonly filter: EventFilter
  /** Whether an event belongs on the page. */
  readonly isMeant: (event: ScannedEvent) => boolean
}

/**
 * The indexes of every store. Each scan is bounded by `limit`. An item that changes between two pages may be on both or on
 * neither.
 */
export interface Indexes {
  /**
   * Keys of records that are due (`dueMark`), earliest first, and when the next record is due. A shared store reserves the
   * returned keys for 5 s, so that processes do not contend for them.
   */
  due(request: DueRequest): Awaitable<{
    readonly keys: readonly string[]
    readonly nextDueMs: number | undefined
    /** The event of each key that will probably run, if known. Its payload is read ahead. */
    readonly likely?: readonly LikelyEvent[] | undefined
  }>
  /** Keys of records with a past `send.overdueAtMs`, earliest first, and when the next is overdue. */
  overdue(request: {
    readonly nowMs: number
    readonly limit: number
  }): Awaitable<{ readonly keys: readonly string[]; readonly nextMs: number | undefined }>
  /** The stored payloads of these events, in the same order. */
  payloads(places: readonly EventPlace[]): Awaitable<readonly (Payload | undefined)[]>
  /** For each of these records, the ids of the events that have a stored payload. */
  payloadsOf(keys: readonly string[]): Awaitable<readonly (readonly string[])[]>
  /** The key of the record that contains this dead letter. */
  keyOfDeadLetter(id: string): Awaitable<string | undefined>
  /** Events for which `isMeant` is true, newest first, optionally of one message or with one id. Examines a bounded number. */
  scanEvents(request: EventScan): Awaitable<Scanned<ScannedEvent>>
  /** Dead letters, oldest first. */
  scanDeadLetters(request: ScanRequest): Awaitable<Scanned<ScannedEvent>>
  /** Records with a send, by `sentAtMs`, from `fromMs` on and before `toMs`. */
  scanSends(
    request: ScanRequest & { readonly fromMs: number; readonly toMs: number; readonly newestFirst: boolean },
  ): Awaitable<Scanned<ScannedRecord>>
  /** All records with their payloads, in any order. */
  scanRecords(request: ScanRequest): Awaitable<Scanned<ScannedRecord>>
  /** Keys of at most `limit` records with something that may be past its retention. */
  aged(nowMs: number, limit: number): Awaitable<readonly string[]>
  readonly counts: () => Awaitable<StoreCounts>
  /** Overwrites traces of erased data in free pages. */
  compact?(): Awaitable<void>
  readonly close: () => Awaitable<void>
}

/** A write to one record. */
export interface Change {
  readonly key: string
  /** The record that the decision read. Undefined if there was none. */
  readonly before: MessageRecord | undefined
  /** Undefined deletes the record and its payloads. */
  readonly after: MessageRecord | undefined
  readonly payloads: readonly PayloadChange[]
  /** The event whose payload this write stores. */
  readonly admitted: NewEvent | undefined
}

/** A store that no other process changes during a call: memory, or SQLite within a transaction. */
export interface LocalStore extends Indexes {
  /** With `nowMs`, the time of an admission, the store may omit expired data. */
  read(key: string, nowMs?: number): MessageRecord | undefined
  /** Whether there is room for another event. */
  hasCapacity(event: NewEvent): boolean
  write(change: Change): void
}

/** A record in a shared store. The version changes with each write and is compared for equality only. */
export interface Versioned {
  readonly version: number
  readonly record: MessageRecord
}

/** A write to one record, applied only if the stored version is still `expected` (undefined: if no record is stored). */
export interface VersionedChange extends Omit<Change, 'admitted'> {
  readonly expected: number | undefined
  /** The events whose payloads this write stores. */
  readonly admitted: readonly NewEvent[]
}

/** A store that other processes change as well. */
export interface SharedStore extends Omit<Indexes, 'due'> {
  /** `due` of `Indexes`, with the records that it has read as well. */
  due(request: DueRequest): Promise<{
    readonly keys: readonly string[]
    readonly nextDueMs: number | undefined
    readonly found: ReadonlyMap<string, Versioned>
    /** Payloads of the first waiting events, by the same keys, if read with the records. */
    readonly payloads?: ReadonlyMap<string, Payload>
  }>
  /** The existing records of these keys. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned>>
  /**
   * Writes each change that still applies, whole or not at all, durably. Returns its new version, or undefined if it did not
   * apply. Changes of one call are not atomic together: if it rejects, any of them may have been written. Rejects with a
   * `ClockJump`, and writes nothing, if the store's clock is more than 2 s from `asOfMs`.
   */
  write(changes: readonly VersionedChange[], asOfMs: number | undefined): Promise<readonly (number | undefined)[]>
}

/** The store's clock has moved since the decision. Nothing was written. */
export class ClockJump extends Error {
  override readonly name = 'ClockJump'
}
