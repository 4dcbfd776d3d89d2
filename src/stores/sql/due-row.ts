/** The columns of a record with waiting events, so that `due` need not decode the record. */
import { dueMark } from '../../messages/marks.ts'
import type { MessageRecord } from '../../messages/record.ts'

export interface DueRow {
  /** When the first event is due. Not later than the end of the lease. */
  readonly at: number
  /** The end of the lease. 0 without a lease. */
  readonly heldUntil: number
  /** The worker that holds the lease. */
  readonly worker: string | undefined
  /** Number of unsettled events. */
  readonly waiting: number
  /** The id of the first unsettled event. Undefined while the record is leased. */
  readonly first: string | undefined
}

/** A lease leaves `at` unchanged if possible: the row keeps its index entry, and the write is shorter. */
export function dueRowOf(record: MessageRecord): DueRow | undefined {
  const { waiting, lease } = record
  const mark = dueMark(record)
  if (mark === undefined) return undefined
  if (lease === undefined)
    return { at: mark, heldUntil: 0, worker: undefined, waiting: waiting.length, first: waiting[0]?.id }
  const at = Math.min(mark, dueMark({ ...record, lease: undefined }) ?? mark)
  const worker = lease.worker === '' ? undefined : lease.worker
  return { at, heldUntil: mark, worker, waiting: waiting.length, first: undefined }
}
