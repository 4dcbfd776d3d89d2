/** The networks behind the service: what becomes of messages to numbers that no table documents. */
import type { Carrier } from '../events.ts'
import type { Channel } from './not-shown.ts'
import type { Outcome } from './outcomes.ts'
import { draw } from './random.ts'
import type { Seed } from './faults/draws.ts'

/** How the networks behave. Shares are from 0 to 1. */
export interface NetworkProfile {
  /** The share of numbers on carrier A; the others are on carrier B. A number stays with its carrier. */
  readonly carrierAShare: number
  /** The share of SMS on carrier A that fail once with `network_failure`. */
  readonly transientShare: number
  /** The share of messages that fail for good. */
  readonly permanentShare: number
  /** The share of SMS on carrier A whose subscriber is absent. */
  readonly unreachableShare: number
  /** The share of delivered chat-app messages that are read. */
  readonly readShare: number
  /** How long a step in a message’s life takes, in milliseconds: least and most. */
  readonly delayMs: readonly [number, number]
  /** How often a `transactional` send is tried again after a transient failure. */
  readonly retries: number
  /** How long before the first of these, in milliseconds; it doubles each time. */
  readonly retryDelayMs: number
  /** How callbacks name the carriers. */
  readonly names: Readonly<Record<Carrier, string>>
}

/** How the networks behave where nobody says otherwise: times in milliseconds, chances from 0 to 1. */
export const DEFAULT_NETWORK: NetworkProfile = {
  carrierAShare: 0.6,
  transientShare: 0.04,
  permanentShare: 0.04,
  unreachableShare: 0.04,
  readShare: 0.6,
  delayMs: [50, 400],
  retries: 3,
  retryDelayMs: 1_000,
  names: { carrierA: 'carrier-a', carrierB: 'carrier-b' },
}

/** A number's carrier. */
function carrierOf(network: NetworkProfile, seed: Seed, number: string): Carrier {
  return draw(seed, 'carrier', number) < network.carrierAShare ? 'carrierA' : 'carrierB'
}

/** What becomes of one message, by chance that its id repeats. */
export function chanceOutcome(
  network: NetworkProfile,
  seed: Seed,
  { number, channel, messageId }: { readonly number: string; readonly channel: Channel; readonly messageId: string },
): Outcome {
  const chance = draw(seed, 'outcome', messageId)
  const always = { number, channels: [channel], answer: 11, what: 'By the network profile.' } as const
  const { permanentShare, transientShare, unreachableShare } = network
  if (channel === 'chat-app') {
    if (chance < permanentShare) return { ...always, reports: ['failed'] }
    const isRead = draw(seed, 'read', messageId) < network.readShare
    return { ...always, reports: isRead ? ['sent', 'delivered', 'read'] : ['sent', 'delivered'] }
  }
  const carrier = carrierOf(network, seed, number)
  if (carrier === 'carrierB') return { ...always, carrier, reports: [chance < permanentShare ? 'failed' : 'delivered'] }
  if (chance < permanentShare) return { ...always, carrier, reports: ['delivery_impossible'] }
  if (chance < permanentShare + unreachableShare) return { ...always, carrier, reports: ['absent_subscriber'] }
  const isTransient = chance < permanentShare + unreachableShare + transientShare
  return { ...always, carrier, reports: ['success'], ...(isTransient ? { transientFailures: 1 } : {}) }
}
