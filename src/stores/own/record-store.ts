/**
 * A store on your own database: it keeps texts under keys, compares versions and finds records by a few numbers; the package
 * makes every decision about them.
 */
import type { Awaitable, StoreCounts } from '../../inbox/store.ts'

/** What you store of one message: a text, and the numbers that you index. Times are whole milliseconds since 1970. */
export interface RecordRow {
  /** Random. Compare it for equality only. */
  readonly version: string
  readonly text: string
  /** When its first event is due. Undefined: never find it by `dueMs`. */
  readonly dueMs: number | undefined
  /** When its send is overdue. Undefined: never find it by `overdueMs`. */
  readonly overdueMs: number | undefined
  /** Number of events that are not settled. `counts` adds them up. */
  readonly unsettled: number
  readonly deadLetters: number
}

/** The text of one event of a message. */
export interface PayloadRow {
  readonly id: string
  readonly text: string
}

/** A record as you return it. */
export interface StoredRecord extends Pick<RecordRow, 'version' | 'text'> {
  readonly key: string
  readonly payloads: readonly PayloadRow[]
}

/** A write to one record and its payloads. */
export interface RecordChange {
  readonly key: string
  /** Apply the change only if the stored record has this version. Undefined: only if no record has this key. */
  readonly expected: string | undefined
  /** What to store. Undefined: remove the record and all its payloads. */
  readonly row: RecordRow | undefined
  /** Payloads to add or replace, or, without a text, to remove. */
  readonly payloads: readonly { readonly id: string; readonly text: string | undefined }[]
}

/** A search by one of the two times of `RecordRow`. */
export interface TimeLookup {
  readonly by: 'dueMs' | 'overdueMs'
  /** Records whose time is at or before this one are found. */
  readonly nowMs: number
  readonly limit: number
  /** Leave out these keys. */
  readonly exclude: ReadonlySet<string>
}

/** A page of all records, in the order of their keys. */
export interface RecordsPage {
  /** The last key of the page before. Empty for the first page. */
  readonly after: string
  readonly limit: number
  /** Only records with `deadLetters` above 0. */
  readonly withDeadLetters: boolean
}

/** The operations of a store on your own database. */
export interface RecordStore {
  /** The records of these keys, if they exist, in any order. */
  read(keys: readonly string[]): Awaitable<readonly StoredRecord[]>
  /** Applies each change, whole or not at all, durably. Answers for each whether it was applied. */
  write(changes: readonly RecordChange[]): Awaitable<readonly boolean[]>
  /** Keys by time, earliest first, and the time of the first key that is not among them. */
  due(lookup: TimeLookup): Awaitable<{ readonly keys: readonly string[]; readonly nextMs: number | undefined }>
  /** A page of all records. */
  records(page: RecordsPage): Awaitable<readonly StoredRecord[]>
  /** Current totals. */
  counts(): Awaitable<StoreCounts>
  /** No calls follow. */
  close(): Awaitable<void>
}
