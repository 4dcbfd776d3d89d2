/**
 * Callbacks of a few messages, and the final state they must lead to: worked out by hand from the service's documentation, not with
 * the code under test. "Order by `timestamp`, not arrival"; the chain is queued, sent, then delivered, read or failed.
 */
import { readSentBody } from '../../src/verify/body.ts'
import { newEvent } from '../../src/inbox/new-event.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
import { oneOf, wholeBetween, type Random } from './random.ts'

/** Seconds since the epoch when the simulation begins. */
export const BEGIN_SECONDS = 1_767_225_600

/** A callback as the sender makes it, which may be sent several times. */
export interface Callback {
  readonly message: string
  readonly channel: 'carrier-a' | 'carrier-b' | 'chat-app' | 'payment'
  readonly word: string
  /** Seconds after the beginning; meaningless for the chat-app. */
  readonly second: number
}

const STAGES: Readonly<Record<Exclude<Callback['channel'], 'payment'>, Readonly<Record<string, number>>>> = {
  'carrier-a': { success: 3, network_failure: 2, delivery_impossible: 3, absent_subscriber: 3, unknown_error: 3 },
  'carrier-b': { delivered: 3, failed: 3, 'NO ROUTE': 3 },
  'chat-app': { sent: 1, delivered: 3, read: 4, failed: 3 },
}

export function someCallbacks(random: Random, messages: number, most: number): readonly Callback[] {
  const channels = Array.from({ length: messages }, () =>
    oneOf<Callback['channel']>(random, ['carrier-a', 'carrier-b', 'chat-app', 'chat-app', 'payment']),
  )
  return Array.from({ length: most }, () => {
    const number = wholeBetween(random, 0, messages - 1)
    const channel = channels[number] ?? 'payment'
    const [word = 'paid', ...others] = channel === 'payment' ? ['paid', 'pending'] : Object.keys(STAGES[channel])
    return {
      message: `m${number}`,
      channel,
      word: oneOf(random, [word, ...others]),
      second: wholeBetween(random, 0, 3),
    }
  })
}

const NETWORKS = new Map([
  ['carrier-a', 'carrierA'],
  ['carrier-b', 'carrierB'],
] as const)

/** The event that the stages before the inbox make of it. */
export function eventOf(callback: Callback, arrivedAtMs: number, gapTimeoutMs: number): NewEvent {
  const bytes = Buffer.from(JSON.stringify(bodyOf(callback)))
  return newEvent(
    {
      kind: callback.channel === 'payment' ? 'payment' : 'status',
      body: readSentBody({ captured: { bytes, decoded: false }, contentEncoding: undefined }),
      masked: bytes,
      proof: 'signature',
      scope: undefined,
      project: 'Shop',
      signedAt: undefined,
      arrivedAtMs,
    },
    { networks: NETWORKS, gapTimeoutMs, toleranceSeconds: 300, dedupeKey: () => undefined },
  )
}

function bodyOf({ message, channel, word, second }: Callback): object {
  const timestamp = BEGIN_SECONDS + second
  if (channel === 'payment') return { project: 'Shop', reference: message, state: word, timestamp }
  if (channel === 'chat-app')
    return {
      project: 'Shop',
      channel: 'whatsapp',
      phone_number: '254700000000',
      statuses: { recipient: '254711111111', message_id: message, status: word, type: 'status' },
    }
  return { project: 'Shop', messageId: message, channel: 'sms', network: channel, status: word, timestamp }
}

/** Equal for callbacks that are the same event. */
export function sameAs({ message, channel, word, second }: Callback): string {
  return [message, word, channel === 'chat-app' ? '' : second].join(' ')
}

/** The statuses that may be the newest of a message's reports; equal times and stages leave several. */
export function newestWords(callbacks: readonly Callback[]): ReadonlySet<string> {
  const place = ({ channel, word, second }: Callback): number =>
    channel === 'payment' ? 0 : (channel === 'chat-app' ? 0 : second * 10) + (STAGES[channel][word] ?? 0)
  const greatest = Math.max(...callbacks.map(place))
  return new Set(callbacks.filter((callback) => place(callback) === greatest).map(({ word }) => word))
}
