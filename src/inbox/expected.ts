/** What is kept of a message that was sent, so that its reports say which it was, and that none came is noticed. */
import { FAILURE_CAUSES, type FailureCause, type SentDetails } from '../events.ts'
import { isObject, isTextOrNone, isTime } from './record.ts'

/** What is kept of it: small, plain, and safe to write as JSON. Stores read it back with `readExpectation`. */
export interface Expectation {
  readonly project?: string
  readonly messageId?: string
  readonly to?: string
  readonly type?: string
  readonly channel?: string
  readonly campaign?: string
  /** The user's own. */
  readonly meta?: unknown
  readonly sentAtMs: number
  readonly scheduledForMs?: number
  /** Without an end by then it is overdue; none for one that was refused at once. */
  readonly overdueAtMs?: number
  /** It was not sent, and this is why. */
  readonly refused?: FailureCause
}

/** What a store hands out with an event of its message. */
export interface KnownExpectation {
  readonly expectation: Expectation
  /** `message.overdue` was made of it. */
  readonly wasOverdue: boolean
}

/** What a store reads back of an expectation that it wrote as JSON; undefined where it is damaged. */
export function readExpectation(json: Uint8Array | undefined): Expectation | undefined {
  if (json === undefined) return undefined
  try {
    const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')
    const value: unknown = JSON.parse(text)
    return isExpectation(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function encodeExpectation(expectation: Expectation): Buffer {
  return Buffer.from(JSON.stringify(expectation))
}

/** Whether a value is an expectation. */
export function isExpectation(value: unknown): value is Expectation {
  if (!isObject(value)) return false
  const { sentAtMs, scheduledForMs, overdueAtMs, refused } = value
  return (
    TEXTS.every((name) => isTextOrNone(value[name])) &&
    isTime(sentAtMs) &&
    (scheduledForMs === undefined || isTime(scheduledForMs)) &&
    (overdueAtMs === undefined || isTime(overdueAtMs)) &&
    (refused === undefined || FAILURE_CAUSES.some((cause) => cause === refused))
  )
}

const TEXTS: readonly (keyof Expectation)[] = ['project', 'messageId', 'to', 'type', 'channel', 'campaign']

/** Of what is kept of a send, as handlers see it. Its `meta` is a copy, for what is kept is not theirs to change. */
export function sentDetails(expectation: Expectation): SentDetails {
  const { messageId = '', to, type, channel, campaign, meta, sentAtMs, scheduledForMs, overdueAtMs } = expectation
  const sent: { -readonly [K in keyof SentDetails]: SentDetails[K] } = {
    messageId,
    sentAt: new Date(sentAtMs),
    overdueAt: new Date(overdueAtMs ?? sentAtMs),
  }
  if (to !== undefined) sent.to = to
  if (type !== undefined) sent.type = type
  if (channel !== undefined) sent.channel = channel
  if (campaign !== undefined) sent.campaign = campaign
  if (meta !== undefined) sent.meta = structuredClone(meta)
  if (scheduledForMs !== undefined) sent.scheduledFor = new Date(scheduledForMs)
  return sent
}
