/**
 * Outcomes of messages. Documented numbers have fixed outcomes, like the test cards of a payment service. Country code 999 is
 * not assigned, so no real telephone has such a number. Other numbers follow the network profile, by repeatable chance.
 */
import { CARRIER_A_CODES, carrierAStatus } from '../carriers/vocabularies.ts'
import type { Carrier, StatusCode } from '../public/events.ts'
import type { Channel } from './not-shown.ts'
import type { EmulatorSettings } from './options.ts'
import { draw } from './random.ts'
import type { Send } from './send-request.ts'

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

/** Channels whose reports use the statuses of SMS. */
const SMS_LIKE: readonly Channel[] = ['sms', 'premium', 'premium-subscription', 'airtime']

/** The common fields of each group of outcomes. */
const ON_CARRIER_A = { channels: SMS_LIKE, answer: 11, carrier: 'carrierA' } as const
const ON_CARRIER_B = { channels: SMS_LIKE, answer: 11, carrier: 'carrierB' } as const
const ON_SMS = { channels: ['sms'], answer: 11, carrier: 'carrierA' } as const
const ON_CHAT_APP = { channels: ['chat-app'], answer: 11 } as const

/** A code that carrier A's table does not list. */
const UNLISTED_CODE = 9_999

function outcome(
  number: string,
  group: Pick<Outcome, 'channels' | 'answer' | 'carrier'>,
  reports: readonly string[],
  what: string,
  more: Partial<Outcome> = {},
): Outcome {
  return { number, ...group, reports, what, ...more }
}

/** The number is 99910000 and the code in four digits. */
function ofCode(code: number): Outcome {
  const word = carrierAStatus(code)
  const what = code === 0 ? 'Delivered on carrier A.' : `Carrier A’s code ${code}.`
  const isTransient = word === 'network_failure'
  return outcome(`99910000${String(code).padStart(4, '0')}`, ON_CARRIER_A, [isTransient ? 'success' : word], what, {
    ...(isTransient && { transientFailures: Infinity }),
  })
}

/** Every documented number. Refusals are only for SMS, the only channel for which the contract lists their codes. */
export const OUTCOMES: readonly Outcome[] = [
  ...[...CARRIER_A_CODES.keys(), UNLISTED_CODE].map(ofCode),
  outcome('999110000001', ON_SMS, ['success'], 'Fails once on carrier A’s network, then delivered.', {
    transientFailures: 1,
  }),
  outcome('999110000002', ON_SMS, ['success'], 'Fails twice on carrier A’s network, then delivered.', {
    transientFailures: 2,
  }),
  outcome('999200000000', ON_CARRIER_B, ['delivered'], 'Delivered on carrier B.'),
  outcome('999200000001', ON_CARRIER_B, ['failed'], 'Failed on carrier B, with a reason.', {
    reason: 'Number not in use.',
  }),
  outcome('999200000002', ON_CARRIER_B, ['do_not_disturb'], 'Carrier B’s own word `do_not_disturb`.'),
  outcome('999300000000', ON_CHAT_APP, ['sent', 'delivered'], 'Sent and delivered.'),
  outcome('999300000001', ON_CHAT_APP, ['sent', 'delivered', 'read'], 'Sent, delivered and read.'),
  outcome('999300000002', ON_CHAT_APP, ['failed'], 'Failed: outside the 24-hour window.', {
    reason: 'Re-engagement message: more than 24 hours have passed since the customer last wrote.',
  }),
  outcome(
    '999300000003',
    { ...ON_CHAT_APP, answer: 13 },
    ['queued', 'sent', 'delivered'],
    'Queued (13) in the answer, then queued, sent and delivered.',
  ),
  outcome('999300000004', ON_CHAT_APP, ['sent'], 'Sent, without a further report.'),
  outcome('999300000005', ON_CHAT_APP, ['sent', 'failed'], 'Sent, then failed.', {
    reason: 'The recipient no longer uses the app.',
  }),
  outcome('999400000011', { ...ON_SMS, channels: [...SMS_LIKE, 'chat-app'] }, [], 'Accepted, and never reported.'),
  outcome('999400000015', ON_SMS, ['device_ack'], 'The device acknowledged it.'),
  outcome('999400000017', ON_SMS, ['expired'], 'Not delivered in time.'),
  outcome('999400000018', ON_SMS, ['stopped_by_user'], 'The recipient opted out.'),
  outcome('999400000019', ON_SMS, ['stopped_by_admin'], 'Blocked by policy: the number is on a blacklist.'),
  outcome('999400000021', ON_SMS, ['delivery_failure'], 'The carrier reported a failure.'),
  outcome('999400000012', { channels: ['sms'], answer: 12 }, [], 'Refused: the number is not supported.'),
  outcome('999400000022', { channels: ['sms'], answer: 22 }, [], 'Refused, as with an insufficient balance.'),
  outcome('999400000023', { channels: ['sms'], answer: 23 }, [], 'Refused, as beyond the volume limit.'),
]

const byNumber: ReadonlyMap<string, Outcome> = new Map(OUTCOMES.map((outcome) => [outcome.number, outcome]))

/** Ignores a leading plus. */
export function documentedOutcome(number: string, channel: Channel): Outcome | undefined {
  const outcome = byNumber.get(number.replace(/^\+/, ''))
  return outcome?.channels.includes(channel) === true ? outcome : undefined
}

/** One accepted part of a message to one recipient. */
export interface Message extends Pick<Send, 'channel' | 'channelName' | 'type' | 'scheduledForMs'> {
  readonly id: string
  /** The project's display name. */
  readonly project: string
  readonly to: string
  /** Part number, from 1. */
  readonly part: number
}

/** The documented outcome of the number, or a random one derived from the message id. Ignores a leading plus. */
export function outcomeOf(
  { network, seed }: Pick<EmulatorSettings, 'network' | 'seed'>,
  number: string,
  channel: Channel,
  messageId: string,
): Outcome {
  const documented = documentedOutcome(number, channel)
  if (documented !== undefined) return documented
  const { permanentShare, transientShare, unreachableShare } = network
  const chance = draw(seed, 'outcome', messageId)
  const drawn = (reports: readonly string[], carrier?: Carrier, more?: Partial<Outcome>): Outcome =>
    outcome(number, { channels: [channel], answer: 11, ...(carrier && { carrier }) }, reports, 'By the profile.', more)
  if (channel === 'chat-app') {
    if (chance < permanentShare) return drawn(['failed'])
    const isRead = draw(seed, 'read', messageId) < network.readShare
    return drawn(isRead ? ['sent', 'delivered', 'read'] : ['sent', 'delivered'])
  }
  // A number never changes its carrier.
  const carrier = draw(seed, 'carrier', number) < network.carrierAShare ? 'carrierA' : 'carrierB'
  if (carrier === 'carrierB') return drawn([chance < permanentShare ? 'failed' : 'delivered'], carrier)
  if (chance < permanentShare) return drawn(['delivery_impossible'], carrier)
  if (chance < permanentShare + unreachableShare) return drawn(['absent_subscriber'], carrier)
  const isTransient = chance < permanentShare + unreachableShare + transientShare
  return drawn(['success'], carrier, isTransient ? { transientFailures: 1 } : {})
}
