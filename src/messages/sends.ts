/** Recorded sends: each report carries its send to the handlers, and a send without a final report becomes overdue. */
import type { Circumstances, NewSend } from './commands.ts'
import type { NewEvent } from './event-record.ts'
import { admit, withoutWaitFor } from './events.ts'
import { isUsedReference, type Expectation } from './expected.ts'
import { EXPECTED, finalRecords } from './order.ts'
import { EMPTY_RECORD, type Decision, type MessageRecord, type SendEntry } from './record.ts'

/** How long a report waits for the answer to a send of its process. */
export const SEND_WAIT_MS = 5_000

/** Records a send unless it is known already. Events that waited for it become due. */
export function expect(
  record: MessageRecord | undefined,
  { expectation, sentAtMs, overdueInMs }: NewSend,
  { nowMs, isFull }: Pick<Circumstances, 'nowMs' | 'isFull'>,
): Decision<'new' | 'known' | 'full'> {
  const known = record ?? EMPTY_RECORD
  if (known.send !== undefined) return { answer: 'known' }
  if (isFull) return { answer: 'full' }
  const overdueAtMs = overdueInMs === undefined ? undefined : nowMs + overdueInMs
  const send = { expectation, sentAtMs: Math.floor(sentAtMs), overdueAtMs, wasOverdue: false }
  const waiting = withoutWaitFor(known.waiting, EXPECTED, nowMs)
  return { answer: 'new', record: withSend({ ...known, waiting }, send) }
}

/** The record with its send, whose reports wait for it no longer. Also for a store that keeps the two apart. */
export function withSend(record: MessageRecord, send: SendEntry): MessageRecord {
  return { ...record, steps: record.steps | EXPECTED, send }
}

/**
 * Ends the wait for reports, and stores `rest` as the final record of the send. Without it, the send was not made and may be
 * recorded again. An erased send stays erased. Answers whether it changed.
 */
export function endSend(record: MessageRecord | undefined, rest: Expectation | undefined): Decision<boolean> {
  if (record?.send === undefined) return { answer: false }
  if (rest === undefined) return { answer: true, record: { ...record, send: undefined } }
  if (isUsedReference(record.send.expectation)) return { answer: false }
  return { answer: true, record: { ...record, send: { ...record.send, expectation: rest, overdueAtMs: undefined } } }
}

/** Admits the overdue event, unless the message has a final report or this was decided before. The decision is final. */
export function becomeOverdue(
  record: MessageRecord | undefined,
  event: NewEvent,
  circumstances: Circumstances,
): Decision<boolean | 'full'> {
  if (record?.send?.overdueAtMs === undefined) return { answer: false }
  const send = { ...record.send, overdueAtMs: undefined }
  const reports = record.latest?.finals.map((final) => final.record) ?? []
  if (finalRecords(reports, send.expectation.type).length > 0) return { answer: false, record: { ...record, send } }
  const { answer, ...admitted } = admit(record, { event }, circumstances)
  if (answer.admission === 'full') return { answer: 'full' }
  return { ...admitted, answer: true, record: { ...(admitted.record ?? record), send: { ...send, wasOverdue: true } } }
}
