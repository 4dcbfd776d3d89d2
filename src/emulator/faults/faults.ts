/** What can go wrong with a callback on its way, one row a fault. Types, checks and the reference's table come from here. */

import type { Proof } from '../../events.ts'

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

/** Whether the receiver's policy decides: it may take such a request by the one proof, or ask for the other and refuse it. */
export function isForPolicy(faults: readonly string[]): boolean {
  return FAULT_NAMES.some((name) => isByOneProof(name) && faults.includes(name))
}

function isByOneProof(name: FaultName): boolean {
  return FAULTS[name].taken === 'by its authKey' || FAULTS[name].taken === 'by its signature'
}

/** Whether a callback that carries these proofs can meet the fault. */
export function canMeet(name: FaultName, proof: Proof): boolean {
  const { needs } = faultRow(name)
  return needs === undefined || proof === 'both' || proof === needs
}

/** Those that must be judged by the second in which they arrive. */
const BY_THE_SECOND: ReadonlySet<FaultName> = new Set<FaultName>(['behind300', 'ahead301'])

/** Whether what is right changes when the second turns while the request is under way. */
export function isJudgedByTheSecond(faults: ReadonlySet<FaultName>): boolean {
  return [...faults].some((name) => BY_THE_SECOND.has(name))
}

/** Whether a right receiver takes a request with these faults, where either proof suffices as in the contract. */
export function isToBeTaken(faults: ReadonlySet<FaultName>, proof: Proof): boolean {
  return [...faults].every(
    (name) =>
      FAULTS[name].taken === 'yes' ||
      (FAULTS[name].taken === 'by its authKey' && proof !== 'signature') ||
      (FAULTS[name].taken === 'by its signature' && proof !== 'authKey'),
  )
}
