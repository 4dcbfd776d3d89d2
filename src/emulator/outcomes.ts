/**
 * What becomes of a message to a documented number, like the test cards of a payment service. Country code 999 is not
 * assigned, so no real telephone has such a number. Other numbers follow the network profile, see network.ts.
 */
import { CARRIER_A_CODES, carrierAStatus } from '../statuses/carrier-a.ts'
import type { Carrier, StatusCode } from '../events.ts'
import type { Channel } from './not-shown.ts'

/** What the service answers at once: codes 11 and 13, and the refusals. Code 14 depends on the time that a send asks for. */
export type AnswerCode = Extract<StatusCode, 11 | 12 | 13 | 22 | 23>

/** What becomes of a message to one of the documented numbers. */
export interface Outcome {
  readonly number: string
  readonly channels: readonly Channel[]
  readonly answer: AnswerCode
  /** The carrier, for SMS. */
  readonly carrier?: Carrier
  /** The words that are reported, in order; none where nothing is. */
  readonly reports: readonly string[]
  /** So often `network_failure` comes before the first report; a `transactional` send is retried meanwhile. */
  readonly transientFailures?: number
  /** For `failed`: the reason. */
  readonly reason?: string
  readonly what: string
}

const SMS: readonly Channel[] = ['sms']
/** Their reports are made of the same words as those of SMS. */
const SMS_LIKE: readonly Channel[] = ['sms', 'premium', 'premium-subscription', 'airtime']
const CHAT_APP: readonly Channel[] = ['chat-app']
const ALL: readonly Channel[] = [...SMS_LIKE, ...CHAT_APP]

const ALWAYS = Number.POSITIVE_INFINITY
/** A code of carrier A that its table does not list. */
const UNLISTED_CODE = 9_999

/** 99910000 and the carrier's code in four digits. */
function onCarrierA(code: number): Outcome {
  const word = carrierAStatus(code)
  return {
    number: `99910000${String(code).padStart(4, '0')}`,
    channels: SMS_LIKE,
    answer: 11,
    carrier: 'carrierA',
    reports: word === 'network_failure' ? ['success'] : [word],
    ...(word === 'network_failure' ? { transientFailures: ALWAYS } : {}),
    what: code === 0 ? 'Delivered on carrier A.' : `Carrier A’s code ${code}.`,
  }
}

function onCarrierB(last: number, word: string, what: string, reason?: string): Outcome {
  return {
    number: `99920000000${last}`,
    channels: SMS_LIKE,
    answer: 11,
    carrier: 'carrierB',
    reports: [word],
    ...(reason === undefined ? {} : { reason }),
    what,
  }
}

function onChatApp(last: number, reports: readonly string[], what: string, more: Partial<Outcome> = {}): Outcome {
  return { number: `99930000000${last}`, channels: CHAT_APP, answer: 11, reports, what, ...more }
}

function afterTransient(failures: number): Outcome {
  return {
    number: `99911000000${failures}`,
    channels: SMS,
    answer: 11,
    carrier: 'carrierA',
    reports: ['success'],
    transientFailures: failures,
    what: `Carrier A’s network fails ${failures === 1 ? 'once' : `${failures} times`}, then it is delivered.`,
  }
}

function byCode(code: 15 | 17 | 18 | 19 | 21, word: string, what: string): Outcome {
  return { number: `9994000000${code}`, channels: SMS, answer: 11, carrier: 'carrierA', reports: [word], what }
}

/** By SMS alone, for which the contract lists these codes. */
function refused(code: 12 | 22 | 23, what: string): Outcome {
  return { number: `9994000000${code}`, channels: SMS, answer: code, reports: [], what }
}

/** Every documented number. */
export const OUTCOMES: readonly Outcome[] = [
  ...[...CARRIER_A_CODES.keys(), UNLISTED_CODE].map(onCarrierA),
  afterTransient(1),
  afterTransient(2),
  onCarrierB(0, 'delivered', 'Delivered on carrier B.'),
  onCarrierB(1, 'failed', 'Carrier B failed, with a reason.', 'Number not in use.'),
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
  {
    number: '999400000011',
    channels: ALL,
    answer: 11,
    carrier: 'carrierA',
    reports: [],
    what: 'Accepted, and no report ever comes.',
  },
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

/** What is documented for this number on this channel, if anything; a leading plus does not matter. */
export function documentedOutcome(number: string, channel: Channel): Outcome | undefined {
  const outcome = byNumber.get(number.replace(/^\+/, ''))
  return outcome?.channels.includes(channel) === true ? outcome : undefined
}
