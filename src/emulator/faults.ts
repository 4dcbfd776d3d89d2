/** The faults of callbacks, and of answers to sends, one row each. Types, checks and the reference's table come from here. */
import { describe } from '../runtime/check-options.ts'
import { nearest } from '../runtime/did-you-mean.ts'
import { OptionsError } from '../public/errors.ts'
import type { Proof } from '../public/events.ts'
import type { Delivery } from './callbacks/outgoing.ts'
import { drawsOf, type Seed } from './random.ts'

/**
 * What a receiver can make of the request, where it knows the live pair only and its clock is the emulator's:
 *
 * - `yes`: both proofs hold over the whole body, so it is to be taken whatever proof the URL asks for.
 * - `by its authKey`: the signature does not count, or is not there; to be taken where the authKey suffices.
 * - `by its signature`: it has no authKey; to be taken where the signature suffices.
 * - `no`: to be refused, whatever proof the URL asks for.
 * - `does not arrive`: there is no whole request to judge.
 */
type Taken = 'yes' | 'by its authKey' | 'by its signature' | 'no' | 'does not arrive'

/** A request has at most one fault of a slot, so that what must become of it is never in doubt. */
type Slot = 'moment' | 'proof' | 'way'

interface FaultRow {
  readonly what: string
  readonly taken: Taken
  readonly slot?: Slot
  /** The proofs without which it changes nothing, or would leave none; such a callback does not meet it. */
  readonly needs?: 'signature' | 'both'
}

/** Every fault, in the order in which they are listed. Contract, service.md#delivery-rules, #callback-authenticity. */
export const FAULTS = {
  duplicate: { what: 'It is posted once more; each of the two has other faults of its own.', taken: 'yes' },
  reorder: {
    what: 'It is held back until a later one of the same message was posted, or for 1 s.',
    taken: 'yes',
    slot: 'moment',
  },
  delay: { what: 'It is posted up to 1.5 s later.', taken: 'yes', slot: 'moment' },
  burst: {
    what: 'It is held back until 10 such have gathered, or for 250 ms; then they are posted at once.',
    taken: 'yes',
    slot: 'moment',
  },
  drop: { what: 'It is not posted.', taken: 'does not arrive', slot: 'way' },
  connectionReset: {
    what: 'The connection is reset in the middle of the body.',
    taken: 'does not arrive',
    slot: 'way',
  },
  halfClose: {
    what: 'The sender’s half of the connection is closed behind the body, before the answer.',
    taken: 'yes',
    slot: 'way',
  },
  chunkedBody: { what: 'The body comes in chunks, without a length.', taken: 'yes' },
  slowBody: { what: 'The body comes in pieces, over up to 1 s.', taken: 'yes' },
  clockSkew: {
    what: 'It is signed by a clock that is up to 240 s off, either way.',
    taken: 'yes',
    slot: 'proof',
    needs: 'signature',
  },
  behind300: { what: 'It is signed 300 s ago.', taken: 'yes', slot: 'proof', needs: 'signature' },
  ahead300: { what: 'It is signed 300 s in the future.', taken: 'yes', slot: 'proof', needs: 'signature' },
  behind301: { what: 'It is signed 301 s ago.', taken: 'no', slot: 'proof', needs: 'signature' },
  ahead301: { what: 'It is signed 301 s in the future.', taken: 'no', slot: 'proof', needs: 'signature' },
  staleSignature: { what: 'It is signed ten minutes to a day ago.', taken: 'no', slot: 'proof', needs: 'signature' },
  tamperedByte: {
    what: 'One byte is changed after signing: of the authKey, or anywhere in a body that has no authKey.',
    taken: 'no',
    slot: 'proof',
  },
  oldKey: {
    what: 'It has the authKey and the signature of the pair before the last rotation; of a made-up pair if there was none.',
    taken: 'no',
    slot: 'proof',
  },
  headerTwice: {
    what: 'The signature header is sent twice.',
    taken: 'by its authKey',
    slot: 'proof',
    needs: 'signature',
  },
  noSignature: {
    what: 'It has no signature header; the authKey is its only proof.',
    taken: 'by its authKey',
    slot: 'proof',
    needs: 'both',
  },
  noAuthKey: {
    what: 'It has no authKey; the signature is its only proof.',
    taken: 'by its signature',
    slot: 'proof',
    needs: 'both',
  },
  nulText: { what: 'A free text holds a NUL character.', taken: 'yes' },
  badUtf8: { what: 'A free text holds bytes that are not UTF-8.', taken: 'yes' },
} as const satisfies Readonly<Record<string, FaultRow>>

/** The name of a fault. */
export type FaultName = keyof typeof FAULTS

/** The names, for lists and checks. `Object.keys` of a constant gives its keys and no others. */
export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[]

/** The row of a fault, without the narrower type of its own constant. */
export function faultRow(name: FaultName): FaultRow {
  return FAULTS[name]
}

/** A rate from 0 (never, as for those left out) to 1 (always) for each fault. */
export type FaultRates = Readonly<Partial<Record<FaultName, number>>>

/** Whether the receiver's policy decides: it may take such a request by the one proof, or ask for the other and refuse it. */
function isForPolicy(faults: readonly string[]): boolean {
  return FAULT_NAMES.some((name) => faults.includes(name) && faultRow(name).taken.startsWith('by its '))
}

/** Whether a callback that carries these proofs can meet the fault. */
export function canMeet(name: FaultName, proof: Proof): boolean {
  const { needs } = faultRow(name)
  return needs === undefined || proof === 'both' || proof === needs
}

/** Whether what is right changes when the second turns while the request is under way. */
export function isJudgedByTheSecond(faults: ReadonlySet<FaultName>): boolean {
  return faults.has('behind300') || faults.has('ahead301')
}

/** Whether a right receiver takes a request with these faults, where either proof suffices as in the contract. */
export function isToBeTaken(faults: ReadonlySet<FaultName>, proof: Proof): boolean {
  return [...faults].every((name) => {
    const { taken } = faultRow(name)
    if (taken === 'by its authKey') return proof !== 'signature'
    return taken === 'yes' || (taken === 'by its signature' && proof !== 'authKey')
  })
}

/** What is wrong with an answer: a callback was lost, a forged one was taken, or there is no answer where there should be one. */
export type Verdict = 'lost' | 'wronglyTaken' | 'unanswered'

/** After these no answer, or none that can be read, is as it should be. */
const NO_ANSWER: ReadonlySet<string> = new Set(['drop', 'connectionReset', 'halfClose'] satisfies FaultName[])

/** Undefined where the answer is right, or may be, as by the receiver's policy. */
export function verdictOf({
  faults,
  intact,
  status,
}: Pick<Delivery, 'faults' | 'intact' | 'status'>): Verdict | undefined {
  if (status === undefined) return faults.some((fault) => NO_ANSWER.has(fault)) ? undefined : 'unanswered'
  const isTaken = status >= 200 && status < 300
  if (!intact) return isTaken ? 'wronglyTaken' : undefined
  return isTaken || isForPolicy(faults) ? undefined : 'lost'
}

interface SendFaultRow {
  readonly what: string
  /** Whether the send is made all the same, and its callbacks come. */
  readonly made: 'yes' | 'no'
}

/** Every fault of an answer. A request has at most one; all but `lostRequest` befall sends that were accepted. */
export const SEND_FAULTS = {
  lostRequest: { what: 'The connection is reset, and nothing is made of the send.', made: 'no' },
  noAnswer: { what: 'The connection is reset without an answer.', made: 'yes' },
  silence: { what: 'No answer comes for as long as the client waits.', made: 'yes' },
  halfAnswer: { what: 'The connection is closed in the middle of the answer.', made: 'yes' },
  badGateway: { what: 'The answer is a 502 with a page of HTML.', made: 'yes' },
  lateAnswer: {
    what: 'The answer comes when a callback of the send has been answered, or after 2 s without one.',
    made: 'yes',
  },
} as const satisfies Readonly<Record<string, SendFaultRow>>

/** The name of a fault of answers. */
export type SendFaultName = keyof typeof SEND_FAULTS

/** The names, for lists and checks. `Object.keys` of a constant gives its keys and no others. */
export const SEND_FAULT_NAMES = Object.keys(SEND_FAULTS) as readonly SendFaultName[]

/** A rate from 0 (never, as for those left out) to 1 (always) for each fault of answers. */
export type SendFaultRates = Readonly<Partial<Record<SendFaultName, number>>>

/** The fault that a send meets, if any, by the seed and its own name. Of several, each has the same chance. */
export function drawSendFault(rates: SendFaultRates, seed: Seed, key: string): SendFaultName | undefined {
  const draw = drawsOf(seed, 'answer', key)
  const drawn = SEND_FAULT_NAMES.filter((name) => draw(name) < (rates[name] ?? 0))
  return drawn[Math.floor(draw('one of them') * drawn.length)]
}

/** Reads rates from anywhere. Throws an `OptionsError` for a fault that does not exist, or for what is no rate. */
export function readFaultRates(value: unknown): FaultRates {
  return readRates('faults', value, FAULT_NAMES)
}

/** The same, of the faults of answers to sends. */
export function readSendFaultRates(value: unknown): SendFaultRates {
  return readRates('sendFaults', value, SEND_FAULT_NAMES)
}

function readRates<N extends string>(option: string, value: unknown, names: readonly N[]): Partial<Record<N, number>> {
  const rates: Partial<Record<N, number>> = {}
  if (value === undefined) return rates
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new OptionsError(`\`${option}\` must be an object of rates, such as { ${names[0] ?? ''}: 0.1 }.`)
  for (const [name, rate] of Object.entries(value)) {
    const known = names.find((other) => other === name)
    if (known === undefined) {
      const near = nearest(name, names)
      const meant = near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`
      const all = names.join(', ')
      throw new OptionsError(`\`${option}\`: there is no ${JSON.stringify(name)}. There are: ${all}.${meant}`)
    }
    if (rate === undefined) continue
    if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1))
      throw new OptionsError(`\`${option}.${known}\` is ${describe(rate)}; expected a rate from 0 to 1.`)
    rates[known] = rate
  }
  return rates
}
