/**
 * Outcomes of messages. Documented numbers have fixed outcomes, like the test cards of a payment service. Country code 999 is
 * not assigned, so no real telephone has such a number. Other numbers follow the network profile, by repeatable chance.
 */
import { CARRIER_A_CODES, carrierAStatus } from '../carriers/vocabularies.ts'
import type { Carrier, StatusCode } from '../public/events.ts'
import type { Channel } from './not-shown.ts'
import type { NetworkProfile } from './options.ts'
import { draw, type Seed } from './random.ts'

/** Codes of the immediate answer: 11, 13 and refusals. Code 14 depends on the requested time. */
export type AnswerCode = Extract<StatusCode, 11 | 12 | 13 | 22 | 23>

/** The outcome of a message. */
export interface Outcome {
  readonly number: string
  readonly channels: readonly Channel[]
  readonly answer: AnswerCode
  /** Only for SMS. */
  readonly carrier?: Carrier
  /** Reported statuses in order. Empty if nothing is reported. */
  readonly reports: readonly string[]
  /** Number of `network_failure`s before the first report. The service retries a `transactional` send after each. */
  readonly transientFailures?: number
  /** Only for `failed`. */
  readonly reason?: string
  readonly what: string
}

const SMS: readonly Channel[] = ['sms']
/** Channels whose reports use the statuses of SMS. */
const SMS_LIKE: readonly Channel[] = ['sms', 'premium', 'premium-subscription', 'airtime']
const CHAT_APP: readonly Channel[] = ['chat-app']
const ALL: readonly Channel[] = [...SMS_LIKE, ...CHAT_APP]

const ALWAYS = Number.POSITIVE_INFINITY
/** A code that carrier A's table does not list. */
const UNLISTED_CODE = 9_999

/** The number is 99910000 and the code in four digits. */
function onCarrierA(code: number): Outcome {
  const word = carrierAStatus(code)
  return {
    number: `99910000${String(code).padStart(4, '0')}`,
    channels: SMS_LIKE,
    answer: 11,
    carrier: 'carrierA',
    ...(word === 'network_failure' ? { reports: ['success'], transientFailures: ALWAYS } : { reports: [word] }),
    what: code === 0 ? 'Delivered on carrier A.' : `Carrier A’s code ${code}.`,
  }
}

function onCarrierB(last: number, word: string, what: string, more: Partial<Outcome> = {}): Outcome {
  const number = `99920000000${last}`
  return { number, channels: SMS_LIKE, answer: 11, carrier: 'carrierB', reports: [word], what, ...more }
}

function onChatApp(last: number, reports: readonly string[], what: string, more: Partial<Outcome> = {}): Outcome {
  return { number: `99930000000${last}`, channels: CHAT_APP, answer: 11, reports, what, ...more }
}

function onSms(number: string, reports: readonly string[], what: string, more: Partial<Outcome> = {}): Outcome {
  return { number, channels: SMS, answer: 11, carrier: 'carrierA', reports, what, ...more }
}

function afterTransient(failures: number, times: string): Outcome {
  const what = `Carrier A’s network fails ${times}, then it is delivered.`
  return onSms(`99911000000${failures}`, ['success'], what, { transientFailures: failures })
}

function byCode(code: 15 | 17 | 18 | 19 | 21, word: string, what: string): Outcome {
  return onSms(`9994000000${code}`, [word], what)
}

/** Only for SMS, the only channel for which the contract lists these codes. */
function refused(code: 12 | 22 | 23, what: string): Outcome {
  return { number: `9994000000${code}`, channels: SMS, answer: code, reports: [], what }
}

/** Every documented number. */
export const OUTCOMES: readonly Outcome[] = [
  ...[...CARRIER_A_CODES.keys(), UNLISTED_CODE].map(onCarrierA),
  afterTransient(1, 'once'),
  afterTransient(2, '2 times'),
  onCarrierB(0, 'delivered', 'Delivered on carrier B.'),
  onCarrierB(1, 'failed', 'Carrier B failed, with a reason.', { reason: 'Number not in use.' }),
  onCarrierB(2, 'do_not_disturb', 'Carrier B’s own word: the recipient wants no such messages.'),
  onChatApp(0, ['sent', 'delivered'], 'Sent and delivered.'),
  onChatApp(1, ['sent', 'delivered', 'read'], 'Sent, delivered and read.'),
  onChatApp(2, ['failed'], 'Failed: outside the 24-hour window.', {
    reason: 'Re-engagement message: more than 24 hours have passed since the customer last wrote.',
  }),
  onChatApp(3, ['queued', 'sent', 'delivered'], 'Answered queued (13), then reported queued, sent, delivered.', {
    answer: 13,
  }),
  onChatApp(4, ['sent'], 'Sent, and nothing after it.'),
  onChatApp(5, ['sent', 'failed'], 'Sent, then failed.', { reason: 'The recipient uses the app no more.' }),
  onSms('999400000011', [], 'Accepted, and no report ever comes.', { channels: ALL }),
  byCode(15, 'device_ack', 'The device acknowledged it.'),
  byCode(17, 'expired', 'Not delivered in time.'),
  byCode(18, 'stopped_by_user', 'The recipient opted out.'),
  byCode(19, 'stopped_by_admin', 'Blocked by policy: the number is on a blacklist.'),
  byCode(21, 'delivery_failure', 'The carrier reported a failure.'),
  refused(12, 'Refused at once: the number is not supported.'),
  refused(22, 'Refused at once, as if the balance were too low.'),
  refused(23, 'Refused at once, as if the volume limit were exceeded.'),
]

const byNumber: ReadonlyMap<string, Outcome> = new Map(OUTCOMES.map((outcome) => [outcome.number, outcome]))

/** The documented outcome of a number on a channel. Ignores a leading plus. */
export function documentedOutcome(number: string, channel: Channel): Outcome | undefined {
  const outcome = byNumber.get(number.replace(/^\+/, ''))
  return outcome?.channels.includes(channel) === true ? outcome : undefined
}

/** One accepted part of a message to one recipient. */
export interface Message {
  readonly id: string
  /** The project's display name. */
  readonly project: string
  readonly channel: Channel
  /** As named in the send. */
  readonly channelName: string
  readonly from: string
  readonly to: string
  /** `bulk`, `transactional`, or any other type in the send. */
  readonly type: string
  /** Part number, from 1. */
  readonly part: number
  /** Milliseconds since the Unix epoch. Undefined for immediate delivery. */
  readonly scheduledForMs: number | undefined
}

/** The documented outcome of the number, or a random one derived from the message id. Ignores a leading plus. */
export function outcomeOf(
  network: NetworkProfile,
  seed: Seed,
  { number, channel, messageId }: { readonly number: string; readonly channel: Channel; readonly messageId: string },
): Outcome {
  const documented = documentedOutcome(number, channel)
  if (documented !== undefined) return documented
  const { permanentShare, transientShare, unreachableShare } = network
  const chance = draw(seed, 'outcome', messageId)
  const outcome = (reports: readonly string[], more: Partial<Outcome> = {}): Outcome => {
    return { number, channels: [channel], answer: 11, what: 'By the network profile.', reports, ...more }
  }
  if (channel === 'chat-app') {
    if (chance < permanentShare) return outcome(['failed'])
    const isRead = draw(seed, 'read', messageId) < network.readShare
    return outcome(isRead ? ['sent', 'delivered', 'read'] : ['sent', 'delivered'])
  }
  // A number never changes its carrier.
  const carrier = draw(seed, 'carrier', number) < network.carrierAShare ? 'carrierA' : 'carrierB'
  if (carrier === 'carrierB') return outcome([chance < permanentShare ? 'failed' : 'delivered'], { carrier })
  if (chance < permanentShare) return outcome(['delivery_impossible'], { carrier })
  if (chance < permanentShare + unreachableShare) return outcome(['absent_subscriber'], { carrier })
  const isTransient = chance < permanentShare + unreachableShare + transientShare
  return outcome(['success'], { carrier, ...(isTransient ? { transientFailures: 1 } : {}) })
}
