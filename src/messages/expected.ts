/** The stored record of a send. Reports carry it to the handlers, and it reveals messages without a final report. */
import { FAILURE_CAUSES, type PendingSend, type SentDetails } from '../public/events.ts'
import { defined } from '../runtime/values.ts'
import {
  hasFields,
  isAnything,
  isCount,
  isText,
  isTexts,
  isTime,
  isTrue,
  namesOf,
  oneOf,
  type FieldsOf,
} from './fields.ts'

const SEND_REQUIRED = { sentAtMs: isTime }

/** Fields that may identify a person. */
const SEND_NAMED = {
  project: isText,
  messageId: isText,
  to: isText,
  from: isText,
  type: isText,
  channel: isText,
  campaign: isText,
  /** User data. */
  meta: isAnything,
  /** Set on a pending send and on each entry of its answer. */
  reference: isText,
}

const SEND_NAMELESS = {
  /** Position in the list of sends, if it is not `sentAtMs`. Related messages share it. */
  listedAtMs: isTime,
  scheduledForMs: isTime,
  /** The message becomes overdue if it has no final report by then. Undefined if it was rejected at once. */
  overdueAtMs: isTime,
  /** Set on a pending send: the time for a final report of its messages, if it is not the usual one. */
  withinMs: isTime,
  /** Why the service refused it. */
  refused: oneOf(FAILURE_CAUSES),
  /** Set on a pending send: the number of recipients. 0 once its outcome is stored. */
  recipients: isCount,
  /** Set on a send from a list and on each entry of its answer. All sends of a list share one reference, but not this key. */
  sendKey: isText,
  /**
   * Set under a reference: digests of the numbers that it was sent to. Empty for a list, of which each number has a record of
   * its own. Absent if the numbers are unknown.
   */
  numbers: isTexts,
  /** Set on each entry of an answer: the number of entries. */
  answered: isCount,
  /** Number of parts of the message, if there are several. */
  parts: isCount,
  /** `resend` does not send the message again after this time. */
  notAfterMs: isTime,
  /** The message that this one repeats, and its position in the chain: 2 for the first repetition. */
  resendOf: isText,
  attempt: isCount,
  /** Set on a pending repetition: the key of the message that it repeats. */
  previousKey: isText,
  /** Set if the reports of the message cannot be read, so that no final report is expected. */
  unreported: isTrue,
  /** A repetition was sent, so no final report of this one is expected. The repetition is listed at this time. */
  repeatedAtMs: isTime,
}

const SEND_OPTIONAL = { ...SEND_NAMED, ...SEND_NAMELESS }

/**
 * The stored record of one message of a send. A pending send is stored in the same form before its request, under a key of
 * its own. Only a pending send has `recipients`.
 */
export interface Expectation extends FieldsOf<typeof SEND_REQUIRED>, Partial<FieldsOf<typeof SEND_OPTIONAL>> {}

export function listedAt({ listedAtMs, sentAtMs }: Expectation): number {
  return listedAtMs ?? sentAtMs
}

/** Whether this is a pending send rather than a message. */
export function isPendingSend({ recipients }: Expectation): boolean {
  return recipients !== undefined
}

/** Whether only the fact is left that a reference, or a number under one, was used. Its key in the store is a digest. */
export function isUsedReference({ recipients, reference }: Expectation): boolean {
  return recipients === 0 && reference === undefined
}

/** What erasure leaves of a send: nothing of a message, and of a reference that it was used, so that nothing is sent twice. */
export function erasedExpectation({ sentAtMs, recipients, numbers }: Expectation): Expectation | undefined {
  return recipients === undefined ? undefined : defined({ sentAtMs, recipients: 0, numbers })
}

/** The send of a message, as a store returns it with each event of that message. */
export interface KnownExpectation {
  readonly expectation: Expectation
  /** A `send.overdue` event exists for it. */
  readonly wasOverdue: boolean
}

/** Reads an expectation that a store wrote as JSON. Returns undefined if it is corrupt. */
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

export function isExpectation(value: unknown): value is Expectation {
  return hasFields(value, SEND_REQUIRED, SEND_OPTIONAL)
}

/** Fields that cannot identify a person. */
export const NAMELESS: readonly (keyof Expectation)[] = [...namesOf(SEND_REQUIRED), ...namesOf(SEND_NAMELESS)]

/** Optional fields, while the object is built. */
type InTheMaking = { -readonly [K in keyof SentDetails & keyof PendingSend]?: SentDetails[K] }

/** A sent message as handlers see it. Its `meta` is a copy, because handlers may change it. */
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

export function pendingSend(expectation: Expectation): PendingSend {
  const { reference = '', recipients = 0, sentAtMs } = expectation
  return withFields({ reference, recipients, sentAt: new Date(sentAtMs) }, expectation)
}

function withFields<T extends object>(sent: T, expectation: Expectation): T & InTheMaking {
  const { to, from, type, channel, campaign, meta, scheduledForMs, notAfterMs, resendOf, attempt } = expectation
  const fields: InTheMaking = {}
  if (to !== undefined) fields.to = to
  if (from !== undefined) fields.from = from
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
