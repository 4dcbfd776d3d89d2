/**
 * Admission, lease and settlement of an event. Callbacks arrive twice and out of order (contract, service.md#delivery-rules),
 * and one event of a message runs at a time.
 */
import type { Admit, Admitted, Circumstances, Granted, Lease, Release, Settled, Settlement } from './commands.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { isLate, mergeLatest } from './order.ts'
import {
  dueMark,
  EMPTY_RECORD,
  hasEvent,
  MAX_SETTLED,
  MAX_WAITING,
  type Decision,
  type Entry,
  type MessageRecord,
  type PayloadChange,
  type SettledEntry,
} from './record.ts'

/**
 * Admits an event. Also leases it if it is due, it is the first event of its message, the message has no lease, and the caller
 * asks for it.
 */
export function admit(
  record: MessageRecord | undefined,
  { event, leaseForMs: forMs }: Pick<Admit, 'event' | 'leaseForMs'>,
  circumstances: Circumstances,
): Decision<Admitted> {
  const { id, order, step, awaits, reorderWaitMs } = event
  const { nowMs, trustedMs, retention, isFull } = circumstances
  if (record !== undefined && hasEvent(record, event)) return unchanged('duplicate')
  if (isFull) return unchanged('full')
  // Pruning may never reach a busy message, so drop its expired identities here.
  const known = record === undefined ? EMPTY_RECORD : withoutOldIdentities(record, trustedMs - retention.dedupeMs)
  const late = isLate(order, known.dispatchedUpTo)
  const latest = order === '' ? known.latest : mergeLatest(known.latest, event)
  const isWaiting = !late && awaits !== 0 && (known.steps & awaits) === 0
  const entry: Entry = {
    id,
    order,
    awaits,
    dueMs: isWaiting ? nowMs + reorderWaitMs : nowMs,
    attempts: 0,
    token: 0,
    late,
    replay: false,
    admittedAtMs: nowMs,
  }
  const stored = { id, becomes: 'stored', event } as const
  const next = { ...known, steps: known.steps | step, latest }
  if (known.waiting.length >= MAX_WAITING)
    return {
      answer: { admission: 'crowded', granted: undefined },
      record: { ...next, dead: [...known.dead, { ...entry, diedAtMs: nowMs }] },
      payloads: [stored, { id, becomes: 'dead', error: CROWDED }],
    }
  const waiting = inserted(step === 0 ? known.waiting : withoutWaitFor(known.waiting, step, nowMs), entry)
  const admitted = { ...next, waiting }
  const isNext = forMs !== undefined && admitted.waiting[0] === entry && admitted.lease === undefined
  const leased = isNext ? lease(admitted, { forMs }, circumstances) : undefined
  return {
    answer: { admission: late ? 'late' : 'new', granted: leased?.answer },
    record: leased?.record ?? admitted,
    payloads: [stored],
  }
}

const CROWDED = new MessagingWebhooksError('message_crowded').message

function unchanged(admission: 'duplicate' | 'full'): Decision<Admitted> {
  return { answer: { admission, granted: undefined } }
}

function withoutOldIdentities(record: MessageRecord, beforeMs: number): MessageRecord {
  const isOld = ({ endedAtMs }: SettledEntry): boolean => endedAtMs < beforeMs
  return record.settled.some(isOld) ? { ...record, settled: record.settled.filter((one) => !isOld(one)) } : record
}

/** Makes events that wait for this step due. An event that was attempted keeps its retry time. */
export function withoutWaitFor(waiting: readonly Entry[], step: number, nowMs: number): readonly Entry[] {
  const isOver = ({ awaits, attempts, dueMs }: Entry): boolean => awaits === step && attempts === 0 && dueMs > nowMs
  return waiting.some(isOver) ? waiting.map((entry) => (isOver(entry) ? { ...entry, dueMs: nowMs } : entry)) : waiting
}

/** Leases the first event of the message if it is due and the message has no active lease. */
export function lease(
  record: MessageRecord | undefined,
  { forMs }: Pick<Lease, 'forMs'>,
  { nowMs, worker, payload }: Circumstances,
): Decision<Granted | undefined> {
  const first = record?.waiting[0]
  if (record === undefined || first === undefined || worker === undefined) return { answer: undefined }
  if (first.dueMs > nowMs || (record.lease !== undefined && record.lease.untilMs > nowMs)) return { answer: undefined }
  const token = record.tokens + 1
  const entry: Entry = { ...first, attempts: first.attempts + 1, token }
  const { id, attempts: attempt, late, replay } = entry
  const { send } = record
  const expected = send && { expectation: send.expectation, wasOverdue: send.wasOverdue }
  return {
    answer: { id, token, attempt, late, replay, expected, ...(payload?.id === id && { payload }) },
    record: {
      ...record,
      tokens: token,
      lease: { token, untilMs: nowMs + forMs, worker },
      dispatchedUpTo: first.order > record.dispatchedUpTo ? first.order : record.dispatchedUpTo,
      waiting: record.waiting.length === 1 ? [entry] : record.waiting.with(0, entry),
    },
  }
}

/**
 * Settles an attempt. Answers false and changes nothing if the token is not that of the last attempt. An expired lease still
 * settles, unless the event was leased again.
 */
export function settle(record: MessageRecord | undefined, settlement: Settlement, nowMs: number): Decision<Settled> {
  const { id, token } = settlement
  const entry = record?.waiting.find((one) => one.id === id)
  if (record === undefined || entry === undefined || token === 0 || entry.token !== token)
    return { answer: { held: false, nextInMs: undefined } }
  // Another event of the message may hold the lease by now. Keep that lease.
  const lease = record.lease?.token === token ? undefined : record.lease
  const rest = record.waiting.filter((one) => one !== entry)
  switch (settlement.outcome) {
    case 'retry': {
      const again = { ...entry, dueMs: nowMs + settlement.inMs }
      return settled({ ...record, lease, waiting: replaced(record, entry, again) }, nowMs)
    }
    case 'release': {
      const dueMs = nowMs + settlement.inMs
      const returned = { ...entry, dueMs, attempts: entry.attempts - 1, token: 0, awaits: 0 }
      return settled({ ...record, lease, waiting: replaced(record, entry, returned) }, nowMs)
    }
    case 'dead': {
      const dead = [...record.dead, { ...entry, diedAtMs: nowMs }]
      const { error } = settlement
      return settled({ ...record, lease, waiting: rest, dead }, nowMs, { id, becomes: 'dead', error })
    }
    case 'done': {
      const ran = settlement.isUnhandled === true ? { ...entry, attempts: 0 } : entry
      const { settled: identities, forgotten } = withSettled(record.settled, [settledEntry(ran, nowMs)])
      const next = { ...record, lease, waiting: rest, settled: identities }
      return settled(next, nowMs, { id, becomes: 'settled' }, ...forgotten)
    }
  }
}

function settled(record: MessageRecord, nowMs: number, ...payloads: readonly PayloadChange[]): Decision<Settled> {
  const dueMs = dueMark(record)
  const nextInMs = dueMs === undefined ? undefined : Math.max(0, dueMs - nowMs)
  return { answer: { held: true, nextInMs }, record, payloads }
}

/**
 * Ends the lease of a worker that is dead, or that does not have the event in flight because the answer with its lease was
 * lost. The event is due again, and its token no longer settles anything.
 */
export function release(
  record: MessageRecord | undefined,
  { worker, token }: Pick<Release, 'worker' | 'token'>,
): Decision<boolean> {
  const { lease } = record ?? {}
  if (record === undefined || lease?.worker !== worker || (token ?? lease.token) !== lease.token)
    return { answer: false }
  const waiting = record.waiting.map((entry) => (entry.token === lease.token ? { ...entry, token: 0 } : entry))
  return { answer: true, record: { ...record, lease: undefined, waiting } }
}

/** Clocks of a server and of its clients may differ by this much. */
const APART_MS = 2_000

/** Makes events due that were admitted at a later time than it is now. An early retry does no harm. */
export function catchUp(record: MessageRecord | undefined, nowMs: number): Decision<boolean> {
  if (record === undefined) return { answer: false }
  const isAhead = ({ admittedAtMs, dueMs }: Entry): boolean => admittedAtMs > nowMs + APART_MS && dueMs > nowMs
  if (!record.waiting.some(isAhead)) return { answer: false }
  const waiting = record.waiting.map((entry) => (isAhead(entry) ? { ...entry, dueMs: nowMs } : entry))
  return { answer: true, record: { ...record, waiting } }
}

function replaced({ waiting }: MessageRecord, entry: Entry, by: Entry): readonly Entry[] {
  return waiting.length === 1 ? [by] : waiting.map((one) => (one === entry ? by : one))
}

/** Inserts an entry in order. */
export function inserted(waiting: readonly Entry[], entry: Entry): readonly Entry[] {
  if (waiting.length === 0) return [entry]
  const at = waiting.findIndex(({ order }) => order > entry.order)
  return waiting.toSpliced(at === -1 ? waiting.length : at, 0, entry)
}

export function settledEntry({ id, attempts, late }: Entry, nowMs: number): SettledEntry {
  return { id, endedAtMs: Math.floor(nowMs), attempts, late }
}

/** Keeps the newest identities. `forgotten`: what becomes of the payloads of the others. */
export function withSettled(
  settled: readonly SettledEntry[],
  ended: readonly SettledEntry[],
): { readonly settled: readonly SettledEntry[]; readonly forgotten: readonly PayloadChange[] } {
  const all = [...settled, ...ended]
  if (all.length <= MAX_SETTLED) return { settled: all, forgotten: NONE_FORGOTTEN }
  const forgotten = all.slice(0, -MAX_SETTLED).map(({ id }): PayloadChange => ({ id, becomes: 'removed' }))
  return { settled: all.slice(-MAX_SETTLED), forgotten }
}

const NONE_FORGOTTEN: readonly PayloadChange[] = []
