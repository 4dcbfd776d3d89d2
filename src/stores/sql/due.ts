/** The columns of a record with waiting events, so that `due` need not decode all records, and the records found by them. */
import type { Versioned, VersionedChange } from '../../inbox/record-store.ts'
import { dueMark, type MessageRecord } from '../../messages/record.ts'
import { readRecords } from './records.ts'
import { isNull, type Row, type RowReader } from './values.ts'

export type DueRow = NonNullable<ReturnType<typeof dueRowOf>>

/** A lease leaves `at` unchanged if possible: the row keeps its index entry, and the write is shorter. */
export function dueRowOf(record: MessageRecord) {
  const { waiting, lease } = record
  const mark = dueMark(record)
  if (mark === undefined) return undefined
  return {
    /** When the first event is due. */
    at: (lease && dueMark({ ...record, lease: undefined })) ?? mark,
    /** When a leased record can be leased again, not before `at`. 0 without a lease. */
    heldUntil: lease === undefined ? 0 : mark,
    /** The worker that holds the lease. */
    worker: lease === undefined || lease.worker === '' ? undefined : lease.worker,
    /** Number of unsettled events. */
    waiting: waiting.length,
    /** The id of the first unsettled event. Undefined while the record is leased. */
    first: lease === undefined ? waiting[0]?.id : undefined,
  }
}

export function readDue(due: readonly Row[], now: number, { integer, keyIn, recordIn }: RowReader) {
  const records = readRecords(due.filter((row) => !isNull(row, 'number')).map(recordIn))
  /** Records that are due, by key. */
  const found = new Map<string, Versioned>()
  /** Rows that contradict their record, or have none. */
  const astray: Row[] = []
  for (const row of due) {
    const key = isNull(row, 'number') ? undefined : keyIn(row)
    const versioned = key === undefined ? undefined : records.get(key)
    const expected = versioned && dueRowOf(versioned.record)
    if (key !== undefined && versioned !== undefined && isDue(expected, integer(row, 'due_at'), now))
      found.set(key, versioned)
    else astray.push(row)
  }
  return { found, astray, records }
}

function isDue(row: ReturnType<typeof dueRowOf>, at: number, now: number): boolean {
  return row?.at === at && row.heldUntil <= now
}

/** A write that changes nothing but the columns of `dueRowOf`, which any write sets. */
export function repairingDue(key: string, { record, version }: Versioned): VersionedChange {
  return { key, expected: version, before: record, after: record, payloads: [], admitted: [] }
}
