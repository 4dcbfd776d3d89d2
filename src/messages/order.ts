/**
 * Which callbacks are the same event, the order of one message's reports, and its latest state by that order. Contract,
 * service.md#delivery-rules: callbacks come twice, and a `messageId` is no event; reports are ordered by `timestamp`, not by arrival.
 *
 * Timestamps have whole seconds, so ties are usual: the lifecycle breaks them, and then the identity, never the arrival.
 * Chat-app callbacks carry no time of the event, so for them the lifecycle comes first.
 */
import { hash } from 'node:crypto'
import type { CallbackKind, ReportType } from '../public/events.ts'
import type { EventRecord, Report } from './event-record.ts'

const FAILED_FOR_NOW = 2
const FINAL = 3

/** Steps of the chat-app's chain, which alone has gaps: `delivered` waits for `sent`, `read` for `delivered`. */
const CHAIN = { none: 0, sent: 1, delivered: 2, read: 4 } as const

/** The step that is no report: somebody has said that the message was sent. What overtakes that may wait for it. */
export const EXPECTED = 8

interface LifeStage {
  /** queued < sent < failed (transient) < delivered, failed (for good) < read */
  readonly stage: number
  readonly step: number
  readonly awaits: number
}

/** A message's life, as far as the order knows it. */
const LIFE: Readonly<Record<ReportType, LifeStage>> = {
  'message.queued': { stage: 0, step: CHAIN.none, awaits: CHAIN.none },
  'message.sent': { stage: 1, step: CHAIN.sent, awaits: CHAIN.none },
  'message.delivered': { stage: FINAL, step: CHAIN.delivered, awaits: CHAIN.sent },
  'message.failed': { stage: FINAL, step: CHAIN.none, awaits: CHAIN.none },
  'message.read': { stage: 4, step: CHAIN.read, awaits: CHAIN.delivered },
}

const SECONDS_DIGITS = 12
const NO_TIME = '0'.repeat(SECONDS_DIGITS)

/** Where an event stands among those of its message. */
export interface Place {
  /**
   * Sorts the reports of one message; empty for an event of no message, which has no order and no latest state. The first 13
   * characters are the time and the rank: a report is late if they are smaller than those of the newest one handed over.
   */
  readonly order: string
  /** Delivered or failed for good: the state of a message keeps every such report. */
  readonly final: boolean
  /** The chat-app step that this is (a bit), and the step that it waits for; 0 for none. */
  readonly step: number
  readonly awaits: number
}

/** The place of a report. `order` sorts byte by byte, in any language and database. */
export function placeOf(
  id: string,
  { shape, type, failure }: Pick<Report, 'shape' | 'type' | 'failure'>,
  { timestamp, timestampSource }: Pick<EventRecord, 'timestamp' | 'timestampSource'>,
): Place {
  const life = LIFE[type]
  const stage = failure?.kind === 'transient' ? FAILED_FOR_NOW : life.stage
  const final = stage === FINAL
  const seconds = String(timestamp).padStart(SECONDS_DIGITS, '0')
  // Joined, not added up: an added text keeps its parts for as long as a store keeps it.
  if (shape === 'sms') return { order: [seconds, stage, NO_TIME, id].join(''), final, step: 0, awaits: 0 }
  // A time of arrival would let the arrival decide after all.
  const order = [NO_TIME, stage, timestampSource === 'arrival' ? NO_TIME : seconds, id].join('')
  return { order, final, step: life.step, awaits: life.awaits }
}

/** An order begins with a time and a stage. The time is that of the event; zero for a chat-app report, which has none. */
export const TIME_AND_RANK = SECONDS_DIGITS + 1
/** Then comes the time of a chat-app report's signature. */
const BEFORE_IDENTITY = TIME_AND_RANK + SECONDS_DIGITS

/** The identity of the report that has this order. */
export function identityIn(order: string): string {
  return order.slice(BEFORE_IDENTITY)
}

/**
 * Whether a message has an end, as far as its latest state tells: it was delivered, read, or failed. A failure for now is none of a
 * transactional send. Contract, service.md#what-the-service-does: the service sends that again.
 */
export function hasEnd(
  latest: { readonly order: string; readonly finals: readonly unknown[] } | undefined,
  type: string | undefined,
): boolean {
  if (latest === undefined) return false
  const endsWith = type === 'transactional' ? FINAL : FAILED_FOR_NOW
  return latest.finals.length > 0 || latest.order.charAt(SECONDS_DIGITS) >= String(endsWith)
}

/**
 * A report is late if its (time, rank) is strictly smaller than that of the newest one dispatched for its message: what follows
 * only makes the order total. An event without an order is never late.
 */
export function isLate(order: string, dispatchedUpTo: string): boolean {
  return order !== '' && order.slice(0, TIME_AND_RANK) < dispatchedUpTo.slice(0, TIME_AND_RANK)
}

/** More final reports than this are not kept for one message; the newest stay. */
const MOST_FINALS = 64

export interface FinalReport {
  readonly order: string
  readonly record: EventRecord
}

export interface MessageLatest {
  readonly order: string
  readonly record: EventRecord
  /** Sorted by order, without repetition. */
  readonly finals: readonly FinalReport[]
}

/**
 * Joins one report into the state. Commutative, idempotent and monotone: the record with the greatest order wins, and
 * the finals are a set. An order key holds the identity, so equal keys are the same report.
 */
export function mergeLatest(
  current: MessageLatest | undefined,
  report: { readonly order: string; readonly final: boolean; readonly record: EventRecord },
): MessageLatest {
  const { order, record } = report
  const newest = current === undefined || current.order < order ? report : current
  let finals = current?.finals ?? NO_FINALS
  if (report.final && !finals.some((known) => known.order === order))
    finals = [...finals, { order, record }].sort((a, b) => (a.order < b.order ? -1 : 1)).slice(-MOST_FINALS)
  return { order: newest.order, record: newest.record, finals }
}

const NO_FINALS: readonly FinalReport[] = []

/** Every report in it, those that are newest and final twice. */
export function reportsIn(latest: MessageLatest | undefined): readonly FinalReport[] {
  return latest === undefined ? NO_FINALS : [latest, ...latest.finals]
}

/**
 * The state without these reports, where they are forgotten: the newest is then the newest final one that is left. The same
 * object where none of them is in it.
 */
export function withoutReports(
  latest: MessageLatest | undefined,
  isForgotten: (id: string) => boolean,
): MessageLatest | undefined {
  if (latest === undefined) return undefined
  const isLeft = ({ order }: { readonly order: string }): boolean => !isForgotten(identityIn(order))
  const finals = latest.finals.filter(isLeft)
  if (finals.length === latest.finals.length && isLeft(latest)) return latest
  const newest = isLeft(latest) ? latest : finals.at(-1)
  return newest && { order: newest.order, record: newest.record, finals }
}

/** When the event happened, in Unix seconds; undefined where only its arrival is known. */
export function knownTime({ timestamp, timestampSource }: EventRecord): number | undefined {
  return timestampSource === 'arrival' ? undefined : timestamp
}

/** 128 bits, in hexadecimal: far beyond chance for any number of events that one receiver sees. */
const DIGEST_DIGITS = 32

/** The identity of a report: two of one message with equal word, code and payload time are the same event. */
export function reportIdentity(report: {
  readonly project: string | undefined
  readonly messageId: string
  readonly status: string
  readonly statusCode: number | undefined
  /** The payload's own timestamp, where it has one. */
  readonly timestamp: number | undefined
  /** The body's digest, where a field is not exactly representable: a false duplicate would be a loss. */
  readonly bodyDigest: Buffer | undefined
}): string {
  const { project, messageId, status, statusCode, timestamp, bodyDigest } = report
  const code = statusCode?.toString()
  return digest(['report', project, messageId, status, code, timestamp?.toString(), bodyDigest?.toString('hex')])
}

/** The identity of any other callback: the same bytes without the authKey, under the same project and kind. */
export function bodyIdentity(project: string | undefined, kind: CallbackKind | undefined, bodyDigest: Buffer): string {
  return digest(['body', project, kind, bodyDigest.toString('hex')])
}

/** The identity that the user's `dedupeKey` chose. It never joins reports of two messages, whose states are kept apart. */
export function chosenIdentity(callback: {
  readonly project: string | undefined
  readonly kind: CallbackKind | undefined
  readonly messageId: string | undefined
  readonly chosen: string
}): string {
  const { project, kind, messageId, chosen } = callback
  return digest(['chosen', project, kind, messageId, chosen])
}

/** What the events of one message share. The proved project is part of it, so that tenants cannot meet. */
export function messageKey(project: string | undefined, messageId: string): string {
  return digest(['message', project, messageId])
}

/** The identity of the event that says of a message that it is overdue: a message has one. */
export function overdueIdentity(key: string): string {
  return digest(['overdue', key])
}

/** What a send that was begun stands under: no message can have it, whatever its id. In a list each number has one. */
export function sendKey(project: string | undefined, reference: string, number?: string): string {
  return digest(number === undefined ? ['send', project, reference] : ['send', project, reference, number])
}

/** The identity of the event that says of a send that nothing is known of its answer. A reference may be used again. */
export function unknownSendIdentity(key: string, begunAtMs: number): string {
  return digest(['unknown send', key, String(begunAtMs)])
}

/** Length-prefixed, so that no two lists of fields are joined to the same text; digested, so that no id is too long. */
function digest(fields: readonly (string | undefined)[]): string {
  let joined = ''
  for (const field of fields) joined += field === undefined ? '-' : `${field.length}:${field}`
  // UTF-8 makes all lone surrogates equal, so a text that has any is digested as UTF-16.
  const hex = hash('sha256', joined.isWellFormed() ? joined : Buffer.from(joined, 'utf16le'), 'hex')
  // A copy: a slice would keep the whole text for as long as a store keeps the identity.
  digits.write(hex, 'latin1')
  return digits.toString('latin1')
}

const digits = Buffer.alloc(DIGEST_DIGITS)
