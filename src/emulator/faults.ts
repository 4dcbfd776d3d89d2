/** The faults of callbacks and of answers to sends. Types, checks and the reference's table derive from these tables. */
import { z } from 'zod'
import { numberFrom } from '../runtime/check-options.ts'
import { keysOf, recordOf } from '../runtime/values.ts'
import type { CallbackKind, EventProof } from '../public/events.ts'
import { drawsOf, type Draw, type Seed } from './random.ts'

/**
 * How a receiver should treat the request if it knows only the live pair and its clock equals the emulator's:
 *
 * - `yes`: both proofs hold over the whole body; accept it under any policy.
 * - `by its authKey`: the signature is missing or does not count; accept it if the authKey suffices.
 * - `by its signature`: the authKey is missing; accept it if the signature suffices.
 * - `no`: refuse it under any policy.
 * - `does not arrive`: there is no whole request to judge.
 */
type Accepted = 'yes' | 'by its authKey' | 'by its signature' | 'no' | 'does not arrive'

/** A request has at most one fault per slot, so that the expected answer is always defined. */
type Slot = 'moment' | 'proof' | 'way'

interface FaultRow {
  readonly what: string
  readonly accepted: Accepted
  readonly slot?: Slot
  /** Callbacks of other kinds skip it. */
  readonly kinds?: readonly CallbackKind[]
  /** Proofs without which the fault has no effect or would leave no proof. Callbacks without them skip it. */
  readonly needs?: 'signature' | 'both'
}

/** Every fault, in the order of the reference. Contract, service.md#delivery-rules, #callback-authenticity. */
export const FAULTS = {
  duplicate: { what: 'Posted twice, each with its own other faults.', accepted: 'yes' },
  reorder: {
    what: 'Posted after a later callback of its message, or after 1 s.',
    accepted: 'yes',
    slot: 'moment',
  },
  delay: { what: 'Posted up to 1.5 s later.', accepted: 'yes', slot: 'moment' },
  drop: { what: 'Not posted.', accepted: 'does not arrive', slot: 'way' },
  connectionReset: { what: 'The connection is reset within the body.', accepted: 'does not arrive', slot: 'way' },
  chunkedBody: { what: 'The body is sent in chunks, without a length.', accepted: 'yes' },
  slowBody: { what: 'The body is sent in pieces over up to 1 s.', accepted: 'yes' },
  clockSkew: { what: 'The signing clock is off by up to 240 s.', accepted: 'yes', slot: 'proof', needs: 'signature' },
  staleSignature: { what: 'Signed ten minutes to a day ago.', accepted: 'no', slot: 'proof', needs: 'signature' },
  tamperedByte: {
    what: 'One byte is changed after signing; no authKey.',
    accepted: 'no',
    slot: 'proof',
    needs: 'signature',
  },
  oldKey: { what: 'The pair before the last rotation, else a random one.', accepted: 'no', slot: 'proof' },
  noSignature: { what: 'No signature header.', accepted: 'by its authKey', slot: 'proof', needs: 'both' },
  noAuthKey: { what: 'No authKey in the body.', accepted: 'by its signature', slot: 'proof', needs: 'both' },
  nulText: { what: 'A text contains a NUL character.', accepted: 'yes' },
  badUtf8: { what: 'A text is not UTF-8.', accepted: 'yes' },
  noIdentity: {
    what: 'No `id` and no `timestamp`; not for delivery reports.',
    accepted: 'yes',
    kinds: ['received', 'payment', 'subscription'],
  },
} as const satisfies Readonly<Record<string, FaultRow>>

/** The name of a fault of callbacks. */
export type FaultName = keyof typeof FAULTS

/** The names in order. */
export const FAULT_NAMES = keysOf(FAULTS)

/** The row of a fault, with the general type. */
export function faultRow(name: FaultName): FaultRow {
  return FAULTS[name]
}

/** A rate from 0 (never, the default) to 1 (always) for each fault. */
export type FaultRates = Readonly<Partial<Record<FaultName, number | undefined>>>
export const faultRates = z.strictObject(recordOf(FAULT_NAMES, () => numberFrom(0, 1).optional()))

/** One planned request. */
export interface PlannedRequest {
  /** Faults that take effect, without those that another fault makes void. */
  readonly faults: ReadonlySet<FaultName>
  /** Chooses the details of each fault at random, such as its delay or the byte that it changes. */
  readonly draw: Draw
}

/** Drawn once for all requests of a callback: a different body would be a different event. */
const OF_THE_CALLBACK: readonly FaultName[] = ['duplicate', 'noAuthKey', 'nulText', 'badUtf8', 'noIdentity']
const OF_A_REQUEST = FAULT_NAMES.filter((name) => !OF_THE_CALLBACK.includes(name))

/** The callback to plan. `key` identifies it in the run, and `proof` names the proofs that it carries. */
interface Planned {
  readonly key: string
  readonly kind: CallbackKind
  readonly proof: EventProof
}

/** Plans the requests of a callback and their faults. Depends only on the seed and the callback, not on earlier callbacks. */
export function planFaults(rates: FaultRates, seed: Seed, { key, kind, proof }: Planned): readonly PlannedRequest[] {
  const isDrawn = (name: FaultName, draw: Draw): boolean => {
    const { needs, kinds } = faultRow(name)
    const canApply =
      (needs === undefined || proof === 'both' || proof === needs) && (kinds === undefined || kinds.includes(kind))
    return canApply && draw(name) < (rates[name] ?? 0)
  }
  const ofAll = drawsOf(seed, 'callback', key)
  const shared = OF_THE_CALLBACK.filter((name) => isDrawn(name, ofAll))
  const copies = shared.includes('duplicate') ? 2 : 1
  return Array.from({ length: copies }, (_, copy) => {
    const draw = drawsOf(seed, 'request', key, copy)
    // Only the second request has `duplicate`, so that its count is the number of repeated callbacks.
    const ofThis = shared.filter((name) => name !== 'duplicate' || copy > 0)
    const own = OF_A_REQUEST.filter((name) => isDrawn(name, draw))
    return { faults: effective(onePerSlot(ofThis, own, draw)), draw }
  })
}

/** Keeps one fault of each slot: a shared one, so that all requests agree, else any with the same probability. */
function onePerSlot(shared: readonly FaultName[], own: readonly FaultName[], draw: Draw): readonly FaultName[] {
  const isIn = (slot: Slot | undefined) => (name: FaultName) => faultRow(name).slot === slot
  const left = own.filter((name) => {
    const { slot } = faultRow(name)
    if (slot === undefined) return true
    const rivals = own.filter(isIn(slot))
    return !shared.some(isIn(slot)) && rivals[Math.floor(draw(`slot ${slot}`) * rivals.length)] === name
  })
  return [...shared, ...left]
}

/** Removes faults that another makes void, and sorts the rest in the table's order. */
function effective(faults: readonly FaultName[]): ReadonlySet<FaultName> {
  const left = FAULT_NAMES.filter((name) => faults.includes(name))
  // A dropped request has no other faults.
  if (left.includes('drop')) return new Set(left.filter((name) => name === 'drop' || name === 'duplicate'))
  // A request with an incomplete body proves nothing, whatever its proof.
  if (left.includes('connectionReset')) return new Set(left.filter((name) => faultRow(name).slot !== 'proof'))
  return new Set(left)
}

/** Whether a correct receiver accepts a request with these faults if either proof suffices, as in the contract. */
export function isToBeAccepted(faults: ReadonlySet<FaultName>): boolean {
  return [...faults].map(faultRow).every(({ accepted }) => accepted !== 'no' && accepted !== 'does not arrive')
}

/**
 * Every fault of an answer. A request has at most one. All but `lostRequest` apply to accepted sends. `made`: whether the service
 * processes the send and posts its callbacks.
 */
export const SEND_FAULTS = {
  lostRequest: { what: 'The connection is reset before the send is processed.', made: 'no' },
  noAnswer: { what: 'The connection is reset without an answer.', made: 'yes' },
  badGateway: { what: 'The answer is a 502 with an HTML page.', made: 'yes' },
  lateAnswer: { what: 'The answer follows the first answered callback, or comes after 2 s.', made: 'yes' },
} as const satisfies Readonly<Record<string, { readonly what: string; readonly made: 'yes' | 'no' }>>

/** The name of a fault of answers. */
export type SendFaultName = keyof typeof SEND_FAULTS

/** The names in order. */
export const SEND_FAULT_NAMES = keysOf(SEND_FAULTS)

/** A rate from 0 (never, the default) to 1 (always) for each fault of answers. */
export type SendFaultRates = Readonly<Partial<Record<SendFaultName, number | undefined>>>
export const sendFaultRates = z.strictObject(recordOf(SEND_FAULT_NAMES, () => numberFrom(0, 1).optional()))

/** The fault of a send, if any, by the seed and its key. Several drawn faults have the same probability. */
export function drawSendFault(rates: SendFaultRates, seed: Seed, key: string): SendFaultName | undefined {
  const draw = drawsOf(seed, 'answer', key)
  const drawn = SEND_FAULT_NAMES.filter((name) => draw(name) < (rates[name] ?? 0))
  return drawn[Math.floor(draw('one of them') * drawn.length)]
}
