/** An event as a row of a list: of the store's record, without the payload, so that a page of them costs little. */
import { readExpectation } from '../inbox/expected.ts'
import type { EventRecord } from '../inbox/record.ts'
import { failureOf } from '../inbox/record.ts'
import { knownTime } from '../inbox/order.ts'
import type { StoredEvent } from '../inbox/store.ts'
import type { Inside } from './inside.ts'
import { maskedError, shownRecipient, withoutPhones } from './masking.ts'
import type { Rights } from './rights.ts'
import type { EventDetail, EventRow, Outcome } from './shapes.ts'

export function rowOf(stored: StoredEvent, inside: Inside, rights: Rights): EventRow {
  const { id, record, late, attempts, error, admittedAtMs, dueMs, endedAtMs } = stored
  const type = inside.typeOf(stored)
  const shown = shownError(error, stored.raw, rights)
  return {
    id,
    outcome: outcomeOf(stored),
    late: late ?? false,
    ...(type !== undefined && { type }),
    ...(record && ofRecord(record, rights)),
    ...(record?.proof === 'none' && ofSend(stored.raw, rights)),
    ...(attempts !== undefined && { attempts }),
    ...(shown !== undefined && { error: shown }),
    ...time('admittedAt', admittedAtMs),
    ...time('dueAt', dueMs),
    ...time('endedAt', endedAtMs),
  }
}

export function outcomeOf({ state, attempts }: StoredEvent): Outcome {
  if (state === 'leased') return 'running'
  if (state === 'due') return attempts === undefined || attempts === 0 ? 'waiting' : 'retrying'
  return state
}

/** Why a report says that the message failed. */
export function failureIn(record: EventRecord | undefined, { reveal }: Rights): EventDetail['failure'] {
  const { report } = record ?? {}
  if (report?.type !== 'message.failed') return undefined
  const { kind, resend, reason, cause } = failureOf(report)
  return { kind, resend, cause, ...(reason !== undefined && { reason: reveal ? reason : withoutPhones(reason) }) }
}

/** What a handler threw, as far as somebody may see it. */
export function shownError(error: string | undefined, raw: Buffer | undefined, { reveal }: Rights): string | undefined {
  if (error === undefined || error === '') return undefined
  if (reveal) return error
  return maskedError(error, raw)
}

function ofRecord(record: EventRecord, rights: Rights): Partial<EventRow> {
  const { reveal } = rights
  const { project, kind, receivedAtMs, proof, report } = record
  const seconds = knownTime(record)
  const { channel, carrier, network, messageId, recipient, status, statusCode } = report ?? {}
  return {
    proof,
    ...time('receivedAt', receivedAtMs),
    ...time('occurredAt', seconds === undefined ? undefined : seconds * 1_000),
    ...(project !== undefined && { project }),
    ...(kind !== undefined && { kind }),
    ...(channel !== undefined && { channel }),
    ...(carrier !== undefined && { carrier }),
    ...(network !== undefined && { network: reveal ? network : withoutPhones(network) }),
    ...(messageId !== undefined && { messageId }),
    ...(recipient !== undefined && { recipient: shownRecipient(recipient, rights) }),
    ...(status !== undefined && { status: reveal ? status : withoutPhones(status) }),
    ...(statusCode !== undefined && { statusCode }),
  }
}

/** What no callback brings has no report: its bytes are what is kept of the send. */
function ofSend(raw: Buffer | undefined, rights: Rights): Partial<EventRow> {
  const { messageId, channel, to } = readExpectation(raw) ?? {}
  return {
    ...(messageId !== undefined && { messageId }),
    ...(channel !== undefined && { channel }),
    ...(to !== undefined && { recipient: shownRecipient(to, rights) }),
  }
}

/** As a spread; nothing of a time that is not known. */
function time<K extends string>(name: K, ms: number | undefined): Partial<Record<K, string>> {
  // A record of one name, which the compiler cannot follow.
  return ms === undefined ? {} : ({ [name]: new Date(ms).toISOString() } as Record<K, string>)
}
