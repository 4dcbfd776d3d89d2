/** What the app said that it sent: it is handed to handlers with each report, and becomes overdue if no end is reported. */
import type { Expectation } from './expected.ts'
import { EXPECTED, hasEnd } from './order.ts'
import { admit, withoutWaitFor, type AdmittedEvent } from './events.ts'
import { EMPTY_RECORD, type Decision, type MessageRecord } from './record.ts'

interface NewSend {
  readonly expectation: Expectation
  readonly sentAtMs: number
  readonly overdueAtMs: number | undefined
}

/** Remembers a send; one that is known stays as it is. Events that waited for it are due. Answers whether it is new. */
export function expect(record: MessageRecord | undefined, sent: NewSend, nowMs: number): Decision<boolean> {
  const known = record ?? EMPTY_RECORD
  if (known.send !== undefined) return { answer: false }
  const { expectation, overdueAtMs } = sent
  const send = { expectation, sentAtMs: Math.floor(sent.sentAtMs), overdueAtMs, wasOverdue: false }
  const waiting = withoutWaitFor(known.waiting, EXPECTED, nowMs)
  return { answer: true, record: { ...known, steps: known.steps | EXPECTED, waiting, send } }
}

/** Nothing more is awaited, and this is what is kept of the send. */
export function endSend(record: MessageRecord | undefined, expectation: Expectation): Decision<undefined> {
  if (record?.send === undefined) return { answer: undefined }
  return { answer: undefined, record: { ...record, send: { ...record.send, expectation, overdueAtMs: undefined } } }
}

/** Admits the event that says that the message is overdue, unless it has an end or that was decided before. Decides for good. */
export function becomeOverdue(
  record: MessageRecord | undefined,
  event: AdmittedEvent,
  nowMs: number,
): Decision<boolean> {
  if (record?.send?.overdueAtMs === undefined) return { answer: false }
  const send = { ...record.send, overdueAtMs: undefined }
  if (hasEnd(record.latest, send.expectation.type)) return { answer: false, record: { ...record, send } }
  const { record: admitted } = admit(record, event, nowMs, NO_LIMITS)
  return { answer: true, record: { ...(admitted ?? record), send: { ...send, wasOverdue: true } } }
}

/** A decision that is for good always has room. */
const NO_LIMITS = { dedupeMs: Infinity, mostEvents: Infinity }
