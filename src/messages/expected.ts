/** What is kept of a message that was sent, so that its reports say which it was, and that none came is noticed. */
import { FAILURE_CAUSES, type BegunSend, type FailureCause, type SentDetails } from '../public/events.ts'
import { isRecord } from '../runtime/values.ts'
import { isTextOrNone, isTime } from './event-record.ts'

/**
 * What is kept of it: small, plain, and safe to write as JSON. Stores read it back with `readExpectation`. Of a send that was begun
 * the same is kept before it is made, under a key of its own: it alone has `recipients`.
 */
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
  /** Its place in the list of what was sent, where that is another time: what belongs together stands together. */
  readonly listedAtMs?: number
  readonly scheduledForMs?: number
  /** Without an end by then it is overdue; none for one that was refused at once. */
  readonly overdueAtMs?: number
  /** It was not sent, and this is why. */
  readonly refused?: FailureCause
  /** Of the send that was begun, and of each entry of its answer. */
  readonly reference?: string
  /** Of the send that was begun: how many numbers it is to; 0 once it is written down what came of it. */
  readonly recipients?: number
  /** Of a send in a list, and of each entry of its answer: the key of the send, for its reference is that of the list. */
  readonly sendKey?: string
  /** Of each entry of an answer: how many of them were to be written down. */
  readonly answered?: number
  /** Where there are several. */
  readonly parts?: number
  /** It is not to be sent again after that. */
  readonly notAfterMs?: number
  /** The message that it repeats, and which send of the chain it is: 2 for the first repetition. */
  readonly resendOf?: string
  readonly attempt?: number
  /** Of a repetition: the key of the first message of the chain. Those that belong to it stand together in the list. */
  readonly chainKey?: string
  /** Of a repetition that was begun: the key of the message that it repeats. */
  readonly previousKey?: string
  /** No report of it can be read, so that no end is awaited. */
  readonly unreported?: true
  /** A repetition of it was sent, so that nothing more is awaited of it. */
  readonly repeated?: true
}

/** Its place in the list of what was sent. */
export function listedAt({ listedAtMs, sentAtMs }: Expectation): number {
  return listedAtMs ?? sentAtMs
}

/** Whether it is a send that was begun, and no message. */
export function isBegun({ recipients }: Expectation): boolean {
  return recipients !== undefined
}

/** What a store hands out with an event of its message. */
export interface KnownExpectation {
  readonly expectation: Expectation
  /** `send.overdue` was made of it. */
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
  if (!isRecord(value)) return false
  const { sentAtMs, refused, repeated, unreported } = value
  return (
    TEXTS.every((name) => isTextOrNone(value[name])) &&
    isTime(sentAtMs) &&
    TIMES.every((name) => value[name] === undefined || isTime(value[name])) &&
    COUNTS.every((name) => value[name] === undefined || isCount(value[name])) &&
    (repeated === undefined || repeated === true) &&
    (unreported === undefined || unreported === true) &&
    (refused === undefined || FAILURE_CAUSES.some((cause) => cause === refused))
  )
}

const TEXTS: readonly (keyof Expectation)[] = [
  'project',
  'messageId',
  'to',
  'type',
  'channel',
  'campaign',
  'reference',
  'sendKey',
  'resendOf',
  'chainKey',
  'previousKey',
]
const TIMES: readonly (keyof Expectation)[] = ['scheduledForMs', 'overdueAtMs', 'listedAtMs', 'notAfterMs']
const COUNTS: readonly (keyof Expectation)[] = ['recipients', 'answered', 'attempt', 'parts']

/** Numbers and ids, of which none is a person's. */
export const NAMELESS: readonly (keyof Expectation)[] = [
  ...TIMES,
  ...COUNTS,
  'sentAtMs',
  'sendKey',
  'resendOf',
  'chainKey',
  'previousKey',
]

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Fields of the user's, while they are built. */
type InTheMaking = { -readonly [K in keyof SentDetails & keyof BegunSend]?: SentDetails[K] }

/** What is kept of a message that was sent, as handlers see it. Its `meta` is a copy, for what is kept is not theirs to change. */
export function sentDetails(expectation: Expectation): SentDetails {
  const { messageId = '', reference, parts, sentAtMs, overdueAtMs } = expectation
  const sent: SentDetails = {
    messageId,
    sentAt: new Date(sentAtMs),
    overdueAt: new Date(overdueAtMs ?? sentAtMs),
    ...(reference === undefined ? undefined : { reference }),
    ...(parts === undefined ? undefined : { parts }),
  }
  return withFields(sent, expectation)
}

/** The same of a send that was begun. */
export function begunSend(expectation: Expectation): BegunSend {
  const { reference = '', recipients = 0, sentAtMs } = expectation
  return withFields({ reference, recipients, sentAt: new Date(sentAtMs) }, expectation)
}

function withFields<T extends object>(sent: T, expectation: Expectation): T & InTheMaking {
  const { to, type, channel, campaign, meta, scheduledForMs, notAfterMs, resendOf, attempt } = expectation
  const fields: InTheMaking = {}
  if (to !== undefined) fields.to = to
  if (type !== undefined) fields.type = type
  if (channel !== undefined) fields.channel = channel
  if (campaign !== undefined) fields.campaign = campaign
  if (meta !== undefined) fields.meta = structuredClone(meta)
  if (scheduledForMs !== undefined) fields.scheduledFor = new Date(scheduledForMs)
  if (notAfterMs !== undefined) fields.notAfter = new Date(notAfterMs)
  if (resendOf !== undefined) fields.resendOf = resendOf
  if (attempt !== undefined) fields.attempt = attempt
  return Object.assign(sent, fields)
}
