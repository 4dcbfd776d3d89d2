/** Delivery: who may run an event, and what its outcome changes. One event of a message runs at a time. */
import {
  changed,
  settledEntry,
  unchanged,
  type Decision,
  type Entry,
  type Lease,
  type MessageRecord,
} from './record.ts'

export interface LeaseRequest {
  readonly nowMs: number
  readonly untilMs: number
  readonly worker: string
}

/** Leases the first event of the message if it is due and no lease lasts. */
export function lease(record: MessageRecord | undefined, request: LeaseRequest): Decision<Entry | undefined> {
  const { nowMs, untilMs, worker } = request
  const [first] = record?.waiting ?? []
  if (record === undefined || first === undefined) return unchanged(undefined)
  if (record.lease !== undefined && record.lease.untilMs > nowMs) return unchanged(undefined)
  // An expired lease ends even if nothing is due now.
  if (first.dueMs > nowMs)
    return record.lease === undefined ? unchanged(undefined) : changed(undefined, { ...record, lease: undefined })
  const token = record.tokens + 1
  const entry: Entry = { ...first, attempts: first.attempts + 1, token }
  const { order, final } = first
  const { dispatchedUpTo, openDispatchedUpTo } = record
  return changed(entry, {
    ...record,
    tokens: token,
    lease: { token, untilMs, worker },
    dispatchedUpTo: order > dispatchedUpTo ? order : dispatchedUpTo,
    openDispatchedUpTo: !final && order > openDispatchedUpTo ? order : openDispatchedUpTo,
    waiting: record.waiting.length === 1 ? [entry] : record.waiting.with(0, entry),
  })
}

/** The outcome of an attempt. */
type Outcome =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'retry'; readonly dueMs: number }
  /** No handler began, so the attempt does not count. */
  | { readonly outcome: 'unbegun'; readonly dueMs: number }
  | { readonly outcome: 'dead'; readonly error: string }

/**
 * Settles an attempt. Answers false, and changes nothing, if its token is not that of the event's last attempt. An expired lease
 * does no harm as long as the event was not leased again.
 */
export function settle(
  record: MessageRecord | undefined,
  settlement: { readonly id: string; readonly token: number } & Outcome,
  nowMs: number,
): Decision<boolean> {
  const { id, token } = settlement
  const entry = record?.waiting.find((one) => one.id === id)
  if (record === undefined || entry === undefined || token === 0 || entry.token !== token) return unchanged(false)
  const released = { ...record, lease: leaseWithout(record.lease, token) }
  const others = (): readonly Entry[] =>
    record.waiting.length === 1 ? NOTHING_WAITS : record.waiting.filter((one) => one !== entry)
  switch (settlement.outcome) {
    case 'retry':
      return changed(true, { ...released, waiting: replaced(record, entry, { ...entry, dueMs: settlement.dueMs }) })
    case 'unbegun': {
      const { dueMs } = settlement
      const returned = { ...entry, dueMs, attempts: entry.attempts - 1, token: 0, awaits: 0 }
      return changed(true, { ...released, waiting: replaced(record, entry, returned) })
    }
    case 'dead': {
      const dead = [...record.dead, { ...entry, diedAtMs: nowMs }]
      return changed(true, { ...released, waiting: others(), dead }, [{ id, becomes: 'dead', error: settlement.error }])
    }
    case 'done': {
      const settled = [...record.settled, settledEntry(entry, nowMs)]
      return changed(true, { ...released, waiting: others(), settled }, [{ id, becomes: 'settled' }])
    }
  }
}

const NOTHING_WAITS: readonly never[] = []

/** Ends the lease of a worker that is gone: its event is due again, and its token settles nothing. */
export function release(record: MessageRecord | undefined, worker: string): Decision<boolean> {
  if (record?.lease?.worker !== worker) return unchanged(false)
  const { token } = record.lease
  const waiting = record.waiting.map((entry) => (entry.token === token ? { ...entry, token: 0 } : entry))
  return changed(true, { ...record, lease: undefined, waiting })
}

/** Takes a lease back whose answer was lost, so that no handler saw it: the attempt does not count. */
export function takeBack(record: MessageRecord | undefined, isLost: (entry: Entry) => boolean): Decision<boolean> {
  const { lease } = record ?? {}
  const lost = record?.waiting.find((entry) => entry.token === lease?.token && isLost(entry))
  if (record === undefined || lost === undefined) return unchanged(false)
  const waiting = replaced(record, lost, { ...lost, token: 0, attempts: lost.attempts - 1 })
  return changed(true, { ...record, lease: undefined, waiting })
}

/** Another event of the message may be leased by now: that lease stays. */
function leaseWithout(current: Lease | undefined, token: number): Lease | undefined {
  return current?.token === token ? undefined : current
}

function replaced({ waiting }: MessageRecord, entry: Entry, by: Entry): readonly Entry[] {
  return waiting.length === 1 ? [by] : waiting.map((one) => (one === entry ? by : one))
}
