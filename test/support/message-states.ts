/** States of one message on every channel, with their position in the order of the contract, worked out by hand. */
import fc from 'fast-check'
import { callback } from 'messaging-webhooks/testing'

export interface State {
  /** The callback's body; `start` in Unix seconds. */
  readonly body: (messageId: string, start: number) => Record<string, unknown>
  /** Seconds after the start: the payload's time, or the signature's if it has none. */
  readonly at: number
  /** 0 queued, 1 sent, 2 temporary failure, 3 delivered or permanent failure, 4 read. */
  readonly stage: number
  readonly channel: 'sms' | 'chat-app'
  /** The sender's status, or the code if there is no status. */
  readonly word: string
  /** Status, and time if the payload has one: two callbacks with both equal are the same event. */
  readonly name: string
}

const seconds = [0, 1, 2] as const

function sms(network: string, words: Readonly<Record<string, number>>): readonly State[] {
  return Object.entries(words).flatMap(([word, stage]) =>
    seconds.map((at): State => {
      const body: State['body'] = (messageId, start) =>
        callback.smsDelivery({ messageId, network, ...stateField(word), timestamp: start + at })
      return { body, at, stage, channel: 'sms', word, name: `${word} at ${at}` }
    }),
  )
}

/** A report may have a `statusCode` and no status. */
function stateField(word: string): object {
  return /^\d+$/.test(word) ? { status: undefined, statusCode: Number(word) } : { status: word }
}

function chatApp(hasTime: boolean): readonly State[] {
  return Object.entries({ sent: 1, delivered: 3, failed: 3, read: 4 }).flatMap(([word, stage]) =>
    seconds.map((at): State => {
      const body: State['body'] = (message_id, start) =>
        callback.chatApp({ statuses: { message_id, status: word }, ...(hasTime ? { timestamp: start + at } : {}) })
      return { body, at, stage, channel: 'chat-app', word, name: hasTime ? `${word} at ${at}` : word }
    }),
  )
}

const CARRIER_A = { accepted: 0, network_failure: 2, success: 3, delivery_impossible: 3, absent_subscriber: 3 }
/** Every status except `delivered` is a failure, even if another table has the status. */
const CARRIER_B = { queued: 3, expired: 3, delivered: 3, failed: 3, 'REJECTED BY HANDSET': 3 }
const CODES = { 13: 0, 14: 0, 17: 2, 15: 3, 18: 3, 21: 3, 16: 4 }

/** One to five different states of one message, over one channel. */
export const messageStates: fc.Arbitrary<readonly State[]> = fc.oneof(
  ...[sms('carrier-a', { ...CARRIER_A, ...CODES }), sms('carrier-b', CARRIER_B), chatApp(false), chatApp(true)].map(
    (states) =>
      fc.uniqueArray(fc.constantFrom(...states), { selector: ({ name }) => name, minLength: 1, maxLength: 5 }),
  ),
)

export interface Arrival {
  readonly state: State
  readonly delayMs: number
}

/** Every state at least once, some repeated, in any order, each after any delay: the reorder wait ends after 1,000 ms. */
export function arrivalsOf(states: readonly State[]): fc.Arbitrary<readonly Arrival[]> {
  return fc
    .array(fc.constantFrom(...states), { maxLength: 4 })
    .chain((repeated) => fc.shuffledSubarray([...states, ...repeated], { minLength: states.length + repeated.length }))
    .chain((order) =>
      fc.tuple(
        ...order.map((state) =>
          fc.record({ state: fc.constant(state), delayMs: fc.constantFrom(0, 300, 1_000, 2_500) }),
        ),
      ),
    )
}

/** The order of the contract: SMS by time, then lifecycle; chat-app by lifecycle, then time, because its time is not the event's. */
export function isBefore(a: State, b: State, hasTimes: boolean): boolean {
  if (!hasTimes) return a.stage < b.stage
  if (a.channel === 'chat-app') return a.stage < b.stage || (a.stage === b.stage && a.at < b.at)
  return a.at < b.at || (a.at === b.at && a.stage < b.stage)
}

/** Strictly older: the time of a chat-app report does not count, and equal time and stage do not make a report older. */
export function isOlder(a: State, b: State): boolean {
  return isBefore(a, b, a.channel === 'sms')
}
