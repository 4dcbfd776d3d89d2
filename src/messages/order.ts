/**
 * Which callbacks are the same event, the order of the reports of one message, and its latest state in that order. Contract,
 * service.md#delivery-rules: callbacks arrive twice, a `messageId` does not identify an event, and reports are ordered by
 * `timestamp`, not by arrival.
 *
 * Timestamps have whole seconds, so ties are common. The lifecycle breaks them, then the identity, never the arrival. Chat-app
 * callbacks carry no event time, so the lifecycle comes first for them.
 */
// Not by name: Node.js 18 has no `hash`, and linking would fail before `supported-node.ts` says what is needed.
import * as crypto from 'node:crypto'
import type { CallbackKind, DeliveryFailure, ReportType } from '../public/events.ts'
import type { EventRecord, Place, Repetitions, Report } from './event-record.ts'

const FAILED_FOR_NOW = 2
const FINAL = 3

/** Steps of the chat-app chain, the only one with a reorder wait: `delivered` waits for `sent`, `read` for `delivered`. */
const CHAIN = { none: 0, sent: 1, delivered: 2, read: 4 } as const

/** A step without a report: the app recorded the send. A report that overtakes that record waits for it. */
export const EXPECTED = 8

interface LifeStage {
  /** queued < sent < failed (transient) < delivered, failed (permanent) < read */
  readonly stage: number
  readonly step: number
  readonly awaits: number
}

/** The lifecycle of a message. */
const LIFE: Readonly<Record<ReportType, LifeStage>> = {
  'message.queued': { stage: 0, step: CHAIN.none, awaits: CHAIN.none },
  'message.sent': { stage: 1, step: CHAIN.sent, awaits: CHAIN.none },
  'message.delivered': { stage: FINAL, step: CHAIN.delivered, awaits: CHAIN.sent },
  'message.failed': { stage: FINAL, step: CHAIN.none, awaits: CHAIN.none },
  'message.read': { stage: 4, step: CHAIN.read, awaits: CHAIN.delivered },
}

const SECONDS_DIGITS = 12
const NO_TIME = '0'.repeat(SECONDS_DIGITS)

/** The place of an event without an order: it is never late and does not change the latest state. */
export const NO_PLACE: Place = { order: '', final: false, step: 0, awaits: 0 }

/** The position of a report. `order` sorts byte by byte, in any locale and database. */
export function placeOf(
  id: string,
  { shape, type, failure }: Pick<Report, 'shape' | 'type' | 'failure'>,
  { timestamp, timestampSource }: Pick<EventRecord, 'timestamp' | 'timestampSource'>,
): Place {
  const life = LIFE[type]
  const stage = failure?.kind === 'transient' ? FAILED_FOR_NOW : life.stage
  const final = isFinal({ type, failure }, undefined)
  const seconds = String(timestamp).padStart(SECONDS_DIGITS, '0')
  // `join` makes one flat string. A concatenation would keep its parts alive as long as a store keeps the result.
  if (shape === 'sms') return { order: [seconds, stage, NO_TIME, id].join(''), final, step: 0, awaits: 0 }
  // Leave out an arrival time, because reports are not ordered by arrival.
  const order = [NO_TIME, stage, timestampSource === 'arrival' ? NO_TIME : seconds, id].join('')
  return { order, final, step: life.step, awaits: life.awaits }
}

/** An order begins with a time and a stage. The time is the event time, or zero for a chat-app report, which has none. */
const TIME_AND_RANK = SECONDS_DIGITS + 1
/** The signature time of a chat-app report, or zeros, precedes the identity. */
const BEFORE_IDENTITY = TIME_AND_RANK + SECONDS_DIGITS

export function identityIn(order: string): string {
  return order.slice(BEFORE_IDENTITY)
}

/**
 * The one definition of a final report: delivered, read or failed. A transient failure of a transactional send is not final,
 * because the service sends again (contract, service.md#what-the-service-does). `sendType` is the type of the recorded send.
 */
export function isFinal(
  { type, failure }: { readonly type: ReportType; readonly failure?: DeliveryFailure | undefined },
  sendType: string | undefined,
): boolean {
  return LIFE[type].stage >= FINAL && !(failure?.kind === 'transient' && sendType === 'transactional')
}

/** The records whose reports are final for a send of this type. */
export function finalRecords(records: readonly EventRecord[], sendType: string | undefined): readonly EventRecord[] {
  return records.filter(({ report }) => report !== undefined && isFinal(report, sendType))
}

/**
 * A report is late if its (time, rank) is strictly smaller than that of the newest dispatched report of its message. The rest
 * of the order only breaks ties. An event without an order is never late.
 */
export function isLate(order: string, dispatchedUpTo: string): boolean {
  return order !== '' && order.slice(0, TIME_AND_RANK) < dispatchedUpTo.slice(0, TIME_AND_RANK)
}

/** Maximum number of final reports kept for one message. The newest stay. */
const MAX_FINALS = 64

export interface FinalReport {
  readonly order: string
  readonly record: EventRecord
}

export interface MessageLatest {
  readonly order: string
  readonly record: EventRecord
  /** Sorted by order, without duplicates. */
  readonly finals: readonly FinalReport[]
}

/**
 * Merges one report into the state. Commutative, idempotent and monotone: the record with the greatest order wins, and the
 * final reports form a set. The order contains the identity, so equal orders mean the same report.
 */
export function mergeLatest(
  current: MessageLatest | undefined,
  report: { readonly order: string; readonly final: boolean; readonly record: EventRecord },
): MessageLatest {
  const { order, record } = report
  const newest = current === undefined || current.order < order ? report : current
  let finals = current?.finals ?? NO_FINALS
  if (report.final && finals.length === 0) finals = [{ order, record }]
  else if (report.final && !finals.some((known) => known.order === order))
    finals = [...finals, { order, record }].sort((a, b) => (a.order < b.order ? -1 : 1)).slice(-MAX_FINALS)
  return { order: newest.order, record: newest.record, finals }
}

const NO_FINALS: readonly FinalReport[] = []

/** All reports of the state. A report that is both newest and final appears twice. */
export function reportsIn(latest: MessageLatest | undefined): readonly FinalReport[] {
  return latest === undefined ? NO_FINALS : [latest, ...latest.finals]
}

/**
 * The state without these reports. If the newest one is removed, the newest remaining final report takes its place. Returns the
 * same object if nothing changes.
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

/** The event time in Unix seconds. Undefined if only the arrival is known. */
export function knownTime({ timestamp, timestampSource }: EventRecord): number | undefined {
  return timestampSource === 'arrival' ? undefined : timestamp
}

/** 128 bits in hexadecimal, which makes a collision practically impossible. */
const DIGEST_DIGITS = 32

/** The identity of a report. Two reports of one message with equal word, code and payload time are the same event. */
export function reportIdentity(report: {
  readonly project: string | undefined
  readonly messageId: string
  readonly status: string
  readonly statusCode: number | undefined
  /** The timestamp in the payload, if there is one. */
  readonly timestamp: number | undefined
  /** The digest of the body if a field cannot be represented exactly: a false duplicate would lose an event. */
  readonly bodyDigest: Buffer | undefined
}): string {
  const { project, messageId, status, statusCode, timestamp, bodyDigest } = report
  const code = statusCode?.toString()
  return digest(['report', project, messageId, status, code, timestamp?.toString(), bodyDigest?.toString('hex')])
}

/** Which events a callback that is not a report can be. */
interface BodyIdentity {
  readonly id: string
  /** Shared by the events that may have this body. */
  readonly messageKey: string
  readonly repeats?: Repetitions
}

/**
 * The identity of a callback that is not a report: project, and the body without the authKey. The URL does not count, so that a
 * captured callback that is replayed to the URL of another kind is a duplicate. A body with neither an id nor
 * a time may return unchanged as another event (a customer writes `YES` every week), so the time of its signature is part of the
 * identity, and without a signature the time of arrival, up to the tolerance. Losing an event is worse than repeating one.
 */
export function bodyIdentity(callback: {
  readonly project: string | undefined
  readonly bodyDigest: Buffer
  /** Whether the body has an id or a time of its own. */
  readonly isDistinct: boolean
  readonly signedAt: number | undefined
  readonly arrivedAtMs: number
  readonly toleranceSeconds: number
}): BodyIdentity {
  const { project, bodyDigest, isDistinct, signedAt, arrivedAtMs, toleranceSeconds } = callback
  const body = ['body', project, bodyDigest.toString('hex')]
  if (isDistinct || signedAt !== undefined) {
    const id = digest(isDistinct ? body : [...body, String(signedAt)])
    return { id, messageKey: id }
  }
  const messageKey = digest(body)
  const seconds = Math.floor(arrivedAtMs / 1_000)
  return {
    id: arrivalId(messageKey, seconds),
    messageKey,
    repeats: {
      from: arrivalId(messageKey, seconds - toleranceSeconds),
      to: arrivalId(messageKey, seconds + toleranceSeconds),
    },
  }
}

/** The last 8 hexadecimal digits of an id can be a second of arrival, until the year 2106. */
const SECOND_DIGITS = 8
const LAST_SECOND = 0xffff_ffff

/** The id of a body that arrived in this second. Ids of one body are ordered by arrival. */
function arrivalId(key: string, seconds: number): string {
  const second = Math.max(0, Math.min(Math.round(seconds), LAST_SECOND))
  return key.slice(0, -SECOND_DIGITS) + second.toString(16).padStart(SECOND_DIGITS, '0')
}

/** The identity from the user's `dedupeKey`. It includes the message, so that reports of different messages never merge. */
export function chosenIdentity(callback: {
  readonly project: string | undefined
  readonly kind: CallbackKind | undefined
  readonly messageId: string | undefined
  readonly chosen: string
}): string {
  const { project, kind, messageId, chosen } = callback
  return digest(['chosen', project, kind, messageId, chosen])
}

/** The key that all events of one message share. It includes the verified project, so that tenants never share a message. */
export function messageKey(project: string | undefined, messageId: string): string {
  return digest(['message', project, messageId])
}

/** The identity of the overdue event. A message has at most one. */
export function overdueIdentity(key: string): string {
  return digest(['overdue', key])
}

/** The key of a pending send. It cannot collide with a message key. Each number of a list has its own. */
export function sendKey(project: string | undefined, reference: string, number?: string): string {
  return digest(number === undefined ? ['send', project, reference] : ['send', project, reference, number])
}

/**
 * The identity of the event that reports an unknown outcome of a send. It includes the time, because references can be reused.
 */
export function unknownSendIdentity(key: string, begunAtMs: number): string {
  return digest(['unknown send', key, String(begunAtMs)])
}

/** Length-prefixed, so that different lists of fields never join to the same text. */
function digest(fields: readonly (string | undefined)[]): string {
  let joined = ''
  for (const field of fields) joined += field === undefined ? '-' : `${field.length}:${field}`
  // UTF-8 maps all lone surrogates to one character, so hash text with lone surrogates as UTF-16.
  const hex = crypto.hash('sha256', joined.isWellFormed() ? joined : Buffer.from(joined, 'utf16le'), 'hex')
  // Copy the digits. A slice would keep the whole digest alive as long as a store keeps the identity.
  digits.write(hex, 'latin1')
  return digits.toString('latin1')
}

const digits = Buffer.alloc(DIGEST_DIGITS)
