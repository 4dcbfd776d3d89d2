/**
 * What an engine does: it reads and writes records, and keeps a few indexes of them. `local.ts` and `compare-and-set.ts` apply
 * commands to it, `lists.ts` makes pages of what it finds.
 */
import type { EventFilter } from '../inbox/store.ts'
import type { Awaitable, DueRequest, Page, StoreCounts } from '../inbox/store.ts'
import type { MessageRecord, PayloadChange } from '../messages/record.ts'
import type { FoundEvent, Payload } from '../messages/views.ts'

/** Identifies an event by the key of its message and its id. */
export interface EventPlace {
  readonly key: string
  readonly id: string
}

/** A write to one record. */
export interface Change {
  readonly key: string
  /** The record that the decision read. Undefined if there was none. */
  readonly before: MessageRecord | undefined
  /** Null removes the record and its payloads. */
  readonly after: MessageRecord | null
  readonly payloads: readonly PayloadChange[]
}

/** A request for a page. `after` is the `next` of the previous page, undefined for the first page. */
export interface ScanRequest {
  readonly after: string | undefined
  readonly limit: number
}

/** An event found by a scan. Pass `place` as `after` to continue behind it. */
export interface ScannedEvent extends FoundEvent {
  readonly place: string
}

/** A record found by a scan, with its payloads if the scan covers all records. */
export interface ScannedRecord {
  readonly key: string
  readonly place: string
  readonly record: MessageRecord
  readonly payloads: readonly Payload[]
}

/** Events of one message (`key`), the event with one `id`, or all. */
export interface EventScan extends ScanRequest {
  readonly key: string | undefined
  readonly id: string | undefined
  /** An engine may use it to skip events that cannot match. */
  readonly filter: EventFilter
  /** Whether an event belongs on the page. */
  readonly isWanted: (event: ScannedEvent) => boolean
}

/** A period of sends, in one of two orders. */
export interface SendScan extends ScanRequest {
  readonly fromMs: number
  readonly toMs: number
  readonly newestFirst: boolean
}

/** The indexes of every engine. Each scan is bounded by `limit`. `unreadableRecord` stands in for a record that cannot be read. */
export interface Indexes {
  /** The stored payloads of these events, in the same order. */
  payloads(places: readonly EventPlace[]): Awaitable<readonly (Payload | undefined)[]>
  /** For each of these records, the ids of the events that have a stored payload. */
  payloadIds(keys: readonly string[]): Awaitable<readonly (readonly string[])[]>
  /** Events for which `isWanted` is true, newest first. Examines a bounded number. */
  scanEvents(request: EventScan): Awaitable<Page<ScannedEvent>>
  /** Dead letters, oldest first, or the one with this id. */
  scanDeadLetters(request: ScanRequest & { readonly id: string | undefined }): Awaitable<Page<ScannedEvent>>
  /** Records with a send, by `sentAtMs`, from `fromMs` on and before `toMs`. */
  scanSends(request: SendScan): Awaitable<Page<ScannedRecord>>
  /** All records with their payloads, in any order. */
  scanRecords(request: ScanRequest): Awaitable<Page<ScannedRecord>>
  counts(): Awaitable<StoreCounts>
}

/** `DueRequest`, with everything that an engine compares its index with. */
export interface DueLookup extends Omit<DueRequest, 'exclude'> {
  readonly exclude: ReadonlySet<string>
  readonly nowMs: number
}

/** An engine that no other process changes during a call: memory, or SQLite within a transaction. Answers at once. */
export interface LocalEngine extends Indexes {
  read(key: string): MessageRecord | undefined
  write(change: Change): void
  payloads(places: readonly EventPlace[]): readonly (Payload | undefined)[]
  payloadIds(keys: readonly string[]): readonly (readonly string[])[]
  /** Whether there is no room for an event with so many bytes, or for a send of another message. */
  isFull(what: { readonly bytes: number } | 'send', key: string): boolean
}

/** A record in a shared store. The version is unique to a write, and compared for equality only. */
export interface Versioned {
  readonly version: string
  readonly record: MessageRecord
}

/** A write to one record, applied only if the stored version is still `expected` (undefined: if no record is stored). */
export interface VersionedChange extends Change {
  readonly expected: string | undefined
  /** The version that the write gives the record. */
  readonly version: string
}

/** Keys of records that are due. */
export interface FoundKeys {
  readonly keys: readonly string[]
  /** When the next will be due. */
  readonly nextMs: number | undefined
}

/** An engine that other processes change as well. */
export interface SharedEngine extends Indexes {
  /** The time, by the clock of the server as of its last answer. */
  nowMs(): number
  /** Keys, and the records and payloads that the engine has read with them. */
  due(request: DueLookup): Promise<
    FoundKeys & {
      readonly found?: ReadonlyMap<string, Versioned> | undefined
      /** Payloads of the first waiting events, by the same keys. */
      readonly payloads?: ReadonlyMap<string, Payload> | undefined
    }
  >
  /** The existing records of these keys. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned>>
  /**
   * Writes each change that still applies, whole or not at all, durably. Answers for each whether it did. Applies none if the
   * clock of the server differs from `asOfMs` by more than 2 s. Changes of one call are not atomic together: if it rejects, any
   * of them may have been written.
   */
  write(changes: readonly VersionedChange[], asOfMs: number): Promise<readonly boolean[]>
}
