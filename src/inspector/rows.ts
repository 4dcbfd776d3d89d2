/** Events, sends and attempts as every page shows them: from the store's record, and from what this process observed. */
import { knownTime } from '../messages/order.ts'
import { isPendingSend, readExpectation, sentDetails } from '../messages/expected.ts'
import { finalsOf } from '../inbox/latest.ts'
import { failureOf, type EventRecord, type Report } from '../messages/event-record.ts'
import type { StoredEvent, StoredExpectation } from '../messages/views.ts'
import type { Inspection } from '../receiver/inspection.ts'
import { isRecord, parsedJson } from '../runtime/values.ts'
import { BETWEEN } from './masking.ts'
import type { Attempt, Watcher } from '../operations/recent.ts'

/** `unhandled`: settled without a handler. */
type Outcome = 'waiting' | 'running' | 'retrying' | 'settled' | 'unhandled' | 'dead'

export type EventRow = ReturnType<typeof rowOf>

/** A stored event. A dead letter has fewer fields. */
export type Known = Pick<StoredEvent, 'id' | 'state' | 'record' | 'raw'> & Partial<StoredEvent>

export function rowOf(stored: Known, typeOf: Inspection['typeOf']) {
  const { id, record, raw, late = false, attempts, error, admittedAtMs, dueMs, endedAtMs } = stored
  const { project, kind, proof, receivedAtMs, report } = record ?? {}
  // A synthetic event has no report. Its bytes are the stored send.
  const { channel, messageId, to } = (proof === 'none' ? readExpectation(raw) : undefined) ?? {}
  const sent = { channel, messageId, recipient: to }
  const known: { readonly [K in keyof Report]?: Report[K] | undefined } = report ?? sent
  const seconds = record && knownTime(record)
  return {
    ...known,
    messageId: known.messageId ?? record?.messageId,
    id,
    outcome: outcomeOf(stored),
    late,
    type: typeOf(stored),
    project,
    kind,
    proof,
    about: aboutOf(record, raw),
    failure: report?.type === 'message.failed' ? failureOf(report) : undefined,
    attempts,
    error: error === '' ? undefined : error,
    receivedAt: dateOf(receivedAtMs),
    occurredAt: dateOf(seconds === undefined ? undefined : seconds * 1_000),
    admittedAt: dateOf(admittedAtMs),
    dueAt: dateOf(dueMs),
    endedAt: dateOf(endedAtMs),
  }
}

export function outcomeOf({ state, attempts = 0 }: Known): Outcome {
  if (state === 'leased') return 'running'
  if (state === 'due') return attempts === 0 ? 'waiting' : 'retrying'
  if (state === 'settled' && attempts === 0) return 'unhandled'
  return state
}

export function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms)
}

/** Larger bodies are not parsed for a row. */
const MAX_READ_BYTES = 16 * 1024
const LONGEST_ABOUT = 60
/** Fields that identify an event without a message id, in this and other services. */
const IDENTIFYING = ['id', 'reference', 'phone', 'from', 'event', 'keyword'] as const

/** Identifies a payment, a received message or a subscription, which have no message id. */
function aboutOf(record: EventRecord | undefined, raw: Buffer | undefined): string | undefined {
  if (record === undefined || record.report !== undefined || record.proof === 'none') return undefined
  if (raw === undefined || raw.length > MAX_READ_BYTES) return undefined
  const parsed = parsedJson(raw.toString('utf8'))
  const fields = new Map(Object.entries(isRecord(parsed) ? parsed : {}))
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'
  const named = IDENTIFYING.map((name) => fields.get(name)).filter(isPlain)
  const [amount, currency] = [fields.get('amount'), fields.get('currency')]
  if (typeof amount === 'number') named.push([amount, currency].filter(isPlain).join(' '))
  return named.length === 0 ? undefined : named.join(BETWEEN).slice(0, LONGEST_ABOUT)
}

/** Attempts that this process observed. The store keeps only the last attempt of another process. */
export function attemptsOf(stored: StoredEvent, watcher: Watcher): readonly Attempt[] {
  const { id, state, attempts = 0, error, record } = stored
  // Another process may have erased the event, so show errors only as long as the store has its content.
  const seen = watcher.attemptsOf(id).map((attempt) => (record === undefined ? withoutErrors(attempt) : attempt))
  // A replay restarts the count.
  if (attempts === 0 || seen.some(({ number, replay }) => replay === true || number >= attempts)) return seen
  // A settled event may be a discarded dead letter.
  const outcome = state === 'leased' ? 'running' : state === 'settled' ? 'settled' : 'failed'
  return [...seen, { number: attempts, outcome, handlers: [], error: error === '' ? undefined : error }]
}

function withoutErrors({ handlers, ...attempt }: Attempt): Attempt {
  return { ...attempt, error: undefined, handlers: handlers.map((call) => ({ ...call, error: undefined })) }
}

/** A recorded send. A send without an answer has no `messageId`, and one that was refused no `overdueAt`. */
export function sentOf(stored: StoredExpectation) {
  const { expectation, wasOverdue, latest } = stored
  const { messageId, project, overdueAtMs, meta, refused } = expectation
  return {
    ...sentDetails(expectation),
    messageId,
    project,
    overdueAt: dateOf(overdueAtMs),
    meta: meta === undefined ? undefined : JSON.stringify(meta),
    refused,
    state: sentState(stored),
    wasOverdue,
    lastReport: latest?.record.report?.type,
  }
}

/**
 * `waiting`: no final report yet; `refused`: in the answer to the send; `repeated`: it was sent again; `unknown`: it may have
 * been sent.
 */
type SentState = 'waiting' | 'overdue' | 'ended' | 'refused' | 'repeated' | 'unknown'

function sentState(stored: StoredExpectation): SentState {
  const { expectation, wasOverdue } = stored
  if (isPendingSend(expectation)) return wasOverdue ? 'unknown' : 'waiting'
  if (expectation.refused !== undefined) return 'refused'
  const finals = finalsOf(stored)
  if (expectation.repeatedAtMs !== undefined && finals.every(({ report }) => report?.type === 'message.failed'))
    return 'repeated'
  if (finals.length > 0) return 'ended'
  return wasOverdue ? 'overdue' : 'waiting'
}
