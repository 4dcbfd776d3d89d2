/** Recorded sends: each report carries its send to the handlers, and a send without a final report becomes overdue. */
import { isUsedReference, type Expectation } from './expected.ts'
import { EXPECTED, finalRecords } from './order.ts'
import { admit, takeBack, withoutWaitFor, type AdmittedEvent, type Leased } from './events.ts'
import { EMPTY_RECORD, type Decision, type Entry, type MessageRecord, type SendEntry } from './record.ts'

interface NewSend {
  readonly expectation: Expectation
  readonly sentAtMs: number
  readonly overdueAtMs: number | undefined
}

/** Records a send unless it is known already. Events that waited for it become due. Answers whether it is new. */
export function expect(record: MessageRecord | undefined, sent: NewSend, nowMs: number): Decision<boolean> {
  const known = record ?? EMPTY_RECORD
  if (known.send !== undefined) return { answer: false }
  const { expectation, overdueAtMs } = sent
  const send = { expectation, sentAtMs: Math.floor(sent.sentAtMs), overdueAtMs, wasOverdue: false }
  const waiting = withoutWaitFor(known.waiting, EXPECTED, nowMs)
  return { answer: true, record: { ...known, steps: known.steps | EXPECTED, waiting, send } }
}

/**
 * Ends the wait for reports, and stores this as the final record of the send. Without one, the send was not made and may be
 * recorded again. An erased send stays erased.
 */
export function endSend(record: MessageRecord | undefined, expectation: Expectation | undefined): Decision<undefined> {
  if (record?.send === undefined) return { answer: undefined }
  if (expectation === undefined) return { answer: undefined, record: { ...record, send: undefined } }
  if (isUsedReference(record.send.expectation)) return { answer: undefined }
  return { answer: undefined, record: { ...record, send: { ...record.send, expectation, overdueAtMs: undefined } } }
}

/** Admits the overdue event, unless the message has a final report or this was decided before. The decision is final. */
export function becomeOverdue(
  record: MessageRecord | undefined,
  event: AdmittedEvent,
  nowMs: number,
): Decision<boolean> {
  if (record?.send?.overdueAtMs === undefined) return { answer: false }
  const send = { ...record.send, overdueAtMs: undefined }
  const reports = record.latest?.finals.map((final) => final.record) ?? []
  if (finalRecords(reports, send.expectation.type).length > 0) return { answer: false, record: { ...record, send } }
  const { record: admitted } = admit(record, event, nowMs, NO_LIMITS)
  return { answer: true, record: { ...(admitted ?? record), send: { ...send, wasOverdue: true } } }
}

/** Reports do not wait for a send that has been pending for longer: its process died, or its request hangs. */
export const MOST_PENDING_MS = 30_000
/** The store time of two processes may differ by this much. */
const APART_MS = 2_000
const LEAST_WAIT_MS = 250

/** Whether a leased event may be a report that arrived before the answer to its send was recorded. */
function mayOvertake({ order, attempts, replay }: Entry, send: SendEntry | undefined): boolean {
  return send === undefined && order !== '' && attempts === 1 && !replay
}

/** Whether a write leases an event that may have overtaken the record of its send. */
export function leasesOvertaking(before: MessageRecord | undefined, { lease, waiting, send }: MessageRecord): boolean {
  const [first] = waiting
  return lease !== undefined && lease.token !== before?.lease?.token && first !== undefined && mayOvertake(first, send)
}

/**
 * A leased report waits for the answer to a send that was pending when the report arrived, whichever process sends. Returns when to check
 * again, or undefined if the report runs now. `pendingSinceMs`: the start of the oldest pending send within `MOST_PENDING_MS`.
 */
export function waitsForAnswerUntil(
  { entry, send }: Leased,
  pendingSinceMs: number | undefined,
  nowMs: number,
): number | undefined {
  const { admittedAtMs } = entry
  if (pendingSinceMs === undefined || pendingSinceMs > admittedAtMs + APART_MS) return undefined
  if (!mayOvertake(entry, send)) return undefined
  return Math.min(nowMs + Math.max(LEAST_WAIT_MS, nowMs - admittedAtMs), pendingSinceMs + MOST_PENDING_MS)
}

/** Takes back the lease of a report that waits. The report is due as soon as its send is recorded, at once if it already is. */
export function awaitAnswer(
  record: MessageRecord | undefined,
  { entry: { id, token }, lease: { worker } }: Leased,
  dueMs: number,
): Decision<boolean> {
  if (record?.lease?.worker !== worker) return { answer: false }
  const isIt = (entry: Entry): boolean => entry.id === id && entry.token === token
  const { answer, record: back } = takeBack(record, isIt)
  if (back === undefined || back.send !== undefined) return { answer, record: back }
  const waiting = back.waiting.map((entry) => (entry.id === id ? { ...entry, awaits: EXPECTED, dueMs } : entry))
  return { answer, record: { ...back, waiting } }
}

/** An overdue decision is not repeated, so its event is admitted even to a full record. */
const NO_LIMITS = { dedupeMs: Infinity, mostEvents: Infinity }
