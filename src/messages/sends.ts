/** Recorded sends: each report carries its send to the handlers, and a send without a final report becomes overdue. */
import { isUsedReference, type Expectation } from './expected.ts'
import { EXPECTED, finalRecords } from './order.ts'
import { admit, withoutWaitFor, type AdmittedEvent } from './events.ts'
import { EMPTY_RECORD, type Decision, type MessageRecord } from './record.ts'

/** How long a report waits for the answer to a send of its process. */
export const SEND_WAIT_MS = 5_000

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

/** Keeps all identities. */
const NO_LIMITS = { dedupeMs: Infinity }
