/** An event and a send as rows of lists, and the attempts at an event: of the store's record and of what this process saw. */
import { knownTime } from '../messages/order.ts'
import { isBegun, readExpectation } from '../messages/expected.ts'
import { isOpen } from '../inbox/latest.ts'
import { failureOf, type EventRecord } from '../messages/event-record.ts'
import type { StoredEvent, StoredExpectation } from '../inbox/store.ts'
import type { Inside } from '../receiver/inside.ts'
import { HIDDEN, shownError, shownMeta, shownRecipient, shownText } from './masking.ts'
import type { Rights } from './options.ts'
import type { AttemptRow, EventDetail, EventRow, Outcome, SentDetail, SentRow } from './shapes.ts'
import type { Watcher } from './watch.ts'

export function rowOf(stored: StoredEvent, inside: Inside, rights: Rights): EventRow {
  const { id, record, raw, late, attempts, error, admittedAtMs, dueMs, endedAtMs } = stored
  const { channel, carrier, network, messageId, recipient, status, statusCode } = record?.report ?? {}
  // What no callback brings has no report: its bytes are what is kept of the send.
  const sent = record?.proof === 'none' ? readExpectation(raw) : undefined
  const to = recipient ?? sent?.to
  const seconds = record && knownTime(record)
  return {
    id,
    outcome: outcomeOf(stored),
    late: late ?? false,
    type: inside.typeOf(stored),
    project: record?.project,
    kind: record?.kind,
    channel: channel ?? sent?.channel,
    carrier,
    network: shownText(network, rights),
    messageId: messageId ?? sent?.messageId,
    about: aboutOf(record, raw, rights),
    recipient: to === undefined ? undefined : shownRecipient(to, rights),
    status: shownText(status, rights),
    statusCode,
    attempts,
    error: shownError(error, raw, rights),
    receivedAt: iso(record?.receivedAtMs),
    occurredAt: iso(seconds === undefined ? undefined : seconds * 1_000),
    admittedAt: iso(admittedAtMs),
    dueAt: iso(dueMs),
    endedAt: iso(endedAtMs),
    proof: record?.proof,
  }
}

export function outcomeOf({ state, attempts }: StoredEvent): Outcome {
  if (state === 'leased') return 'running'
  if (state === 'due') return attempts === undefined || attempts === 0 ? 'waiting' : 'retrying'
  return state
}

/** As a text; what is not known stays so. */
export function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : isoOf(ms)
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}

/** Why a report says that the message failed. */
export function failureIn(record: EventRecord | undefined, rights: Rights): EventDetail['failure'] {
  const { report } = record ?? {}
  if (report?.type !== 'message.failed') return undefined
  const { kind, resend, reason, cause } = failureOf(report)
  return { kind, resend, cause, reason: shownText(reason, rights) }
}

/** A larger body is not read for a row. */
const MOST_READ_BYTES = 16 * 1024
const LONGEST_ABOUT = 60
/** The fields that people know such an event by, of those that the service and others have. */
const IDENTIFYING = ['id', 'reference', 'phone', 'from', 'event', 'keyword'] as const

/** Of a payment, a received message or a subscription, which have no message id. */
function aboutOf(record: EventRecord | undefined, raw: Buffer | undefined, { reveal }: Rights): string | undefined {
  if (record === undefined || record.report !== undefined || record.proof === 'none') return undefined
  if (raw === undefined || raw.length > MOST_READ_BYTES) return undefined
  const fields = fieldsOf(raw)
  const named = IDENTIFYING.flatMap((name) => {
    const value = fields.get(name)
    return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
  })
  const { amount, currency } = { amount: fields.get('amount'), currency: fields.get('currency') }
  if (typeof amount === 'number') named.push(`${amount}${typeof currency === 'string' ? ` ${currency}` : ''}`)
  if (named.length === 0) return undefined
  if (!reveal) return named.map((text) => (text.length > 4 ? HIDDEN + text.slice(-2) : HIDDEN)).join(' · ')
  return named.join(' · ').slice(0, LONGEST_ABOUT)
}

function fieldsOf(raw: Buffer): ReadonlyMap<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(raw.toString('utf8'))
    return new Map(typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : [])
  } catch {
    return new Map()
  }
}

/** More than the largest number of attempts that anybody sets. */
const MOST_SHOWN = 100

/** Those that this process saw, and of the others what the store knows. */
export function attemptsOf(stored: StoredEvent, watcher: Watcher, rights: Rights): readonly AttemptRow[] {
  const { id, raw, state, attempts = 0, error } = stored
  const seen = watcher.attemptsOf(id).map((row) => ({
    ...row,
    error: shownError(row.error, raw, rights),
    handlers: row.handlers.map((handler) => ({ ...handler, error: shownError(handler.error, raw, rights) })),
  }))
  // A replay counts anew.
  const isCounted = !seen.some(({ replay }) => replay)
  const numbers = new Set(seen.map(({ number }) => number))
  const unseen: AttemptRow[] = []
  for (let number = 1; isCounted && number <= Math.min(attempts, MOST_SHOWN); number += 1) {
    if (numbers.has(number)) continue
    const isLast = number === attempts
    // A settled event may be a dead letter that somebody has discarded.
    const outcome = !isLast ? 'failed' : state === 'leased' ? 'running' : state === 'settled' ? 'settled' : 'failed'
    unseen.push({ number, outcome, handlers: [], error: isLast ? shownError(error, raw, rights) : undefined })
  }
  return isCounted ? [...seen, ...unseen].sort((a, b) => a.number - b.number) : seen
}

/** What `receiver.expect` got of a message. */
export function sentDetail(stored: StoredExpectation, rights: Rights): SentDetail {
  const { to, type, channel, campaign, reference, resendOf, meta, refused } = stored.expectation
  const { sentAtMs, scheduledForMs, overdueAtMs, notAfterMs } = stored.expectation
  const state = sentState(stored)
  return {
    state,
    why: SENT_STATES[state],
    wasOverdue: stored.wasOverdue,
    sentAt: isoOf(sentAtMs),
    to: to === undefined ? undefined : shownRecipient(to, rights),
    type,
    channel,
    campaign: shownText(campaign, rights),
    reference: shownText(reference, rights),
    resendOf,
    scheduledFor: iso(scheduledForMs),
    overdueAt: iso(overdueAtMs),
    notAfter: iso(notAfterMs),
    meta: meta === undefined ? undefined : shownMeta(meta, rights),
    refused,
  }
}

export function sentRow(stored: StoredExpectation, rights: Rights): SentRow {
  const { messageId, project, channel, to, refused, sentAtMs } = stored.expectation
  return {
    state: sentState(stored),
    sentAt: isoOf(sentAtMs),
    messageId,
    project,
    to: to === undefined ? undefined : shownRecipient(to, rights),
    channel,
    refused,
    lastReport: stored.latest?.record.report?.type,
  }
}

const SENT_STATES: Readonly<Record<SentDetail['state'], string>> = {
  waiting: 'No final report yet, and the deadline is ahead.',
  overdue: 'No final report came by the deadline, nor since.',
  ended: 'Its final report came.',
  repeated: 'It failed for now and was sent again: no more reports are awaited.',
  refused: 'The service refused it in the answer to the send: no report will come.',
  unknown: 'No answer to the send came: it is not known whether it was sent.',
}

function sentState(stored: StoredExpectation): SentDetail['state'] {
  const { expectation, latest, wasOverdue } = stored
  if (isBegun(expectation)) return wasOverdue ? 'unknown' : 'waiting'
  if (expectation.refused !== undefined) return 'refused'
  const hasFinal = (latest?.finals.length ?? 0) > 0
  if (expectation.repeated === true && !hasFinal) return 'repeated'
  if (!isOpen(stored)) return 'ended'
  return wasOverdue ? 'overdue' : 'waiting'
}
