/** The columns of a record with waiting events, so that `due` need not decode all records, and the records found by them. */
import type { Versioned, VersionedChange } from '../engine.ts'
import { dueMark, type MessageRecord } from '../../messages/record.ts'
import { versionedIn } from './records.ts'
import { isNull, type Row, type RowReader } from './values.ts'

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

/** The records of rows that are due. Rows that contradict their record, or have none, are left out. */
export function readDue(due: readonly Row[], nowMs: number, { integer, keyIn, recordIn, digits }: RowReader) {
  const found = new Map<string, Versioned>()
  /** Records with other columns than they should have. */
  const contradicted: VersionedChange[] = []
  /** Numbers of rows without a record that waits. */
  const ended: string[] = []
  for (const row of due) {
    if (isNull(row, 'number')) {
      ended.push(digits(row, 'due_record'))
      continue
    }
    const key = keyIn(row)
    const versioned = versionedIn(recordIn(row))
    const expected = dueRowOf(versioned.record)
    if (expected === undefined) ended.push(digits(row, 'due_record'))
    else if (expected.at === integer(row, 'due_at') && expected.heldUntil <= nowMs) found.set(key, versioned)
    else contradicted.push(rewritingDue(key, versioned))
  }
  return { found, contradicted, ended }
}

/** A write that changes nothing but the columns of `dueRowOf`, which any write sets. */
function rewritingDue(key: string, { record, version }: Versioned): VersionedChange {
  return { key, expected: version, version: `${version.slice(1)}d`, before: record, after: record, payloads: [] }
}
