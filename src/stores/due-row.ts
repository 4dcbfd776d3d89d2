/** What a table keeps of a record with waiting events, so that `due` needs no look into the record. */
import { dueMark } from '../messages/marks.ts'
import type { MessageRecord } from '../messages/record.ts'

export interface DueRow {
  /** When its first event is due; not later than the end of its lease. */
  readonly at: number
  /** It is leased until then. */
  readonly heldUntil: number
  /** The worker that holds the lease. */
  readonly worker: string | undefined
  /** Unsettled events. */
  readonly waiting: number
  /** The first of them while none is leased. */
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
