/** Which faults a callback meets: decided by the seed and by the callback's own name, whatever was made before it. */
import type { Proof } from '../public/events.ts'
import { canMeet, FAULT_NAMES, faultRow, isJudgedByTheSecond, type FaultName, type FaultRates } from './faults.ts'
import { drawsOf, type Draw, type Seed } from './random.ts'

/** One request that is to be made. */
export interface PlannedRequest {
  /** Those that take effect; what another one makes void is not among them. */
  readonly faults: ReadonlySet<FaultName>
  /** For what a fault leaves open: how late, which byte, ... */
  readonly draw: Draw
}

/** All requests of one callback. */
export interface PlannedCallback {
  /** What its body says, the same in all requests: another text would be another event. */
  readonly text: ReadonlySet<'nulText' | 'badUtf8'>
  /** For what all requests share. */
  readonly draw: Draw
  readonly requests: readonly PlannedRequest[]
}

/** Drawn once for all requests: another body would be another event. */
const OF_THE_CALLBACK = ['duplicate', 'noAuthKey', 'nulText', 'badUtf8'] as const
const OF_A_REQUEST = FAULT_NAMES.filter((name) => !OF_THE_CALLBACK.some((other) => other === name))

interface Run {
  readonly rates: FaultRates
  readonly seed: Seed
}

/** The plan of one callback in a run: `key` names it, `proof` says what it carries. */
export function planFaults({ rates, seed }: Run, key: string, proof: Proof): PlannedCallback {
  const isDrawn = (name: FaultName, draw: Draw): boolean => {
    const rate = rates[name] ?? 0
    return rate > 0 && canMeet(name, proof) && draw(name) < rate
  }
  const draw = drawsOf(seed, 'callback', key)
  const shared = OF_THE_CALLBACK.filter((name) => isDrawn(name, draw))
  const copies = Array.from({ length: shared.includes('duplicate') ? 2 : 1 }, (_, copy) => {
    const own = drawsOf(seed, 'request', key, copy)
    return { draw: own, drawn: OF_A_REQUEST.filter((name) => isDrawn(name, own)) }
  })
  // Against the rivals of the first request, so that it is left out of all or of none.
  const isKeyless =
    shared.includes('noAuthKey') && onePerSlot([...(copies[0]?.drawn ?? []), 'noAuthKey'], draw).includes('noAuthKey')
  const requests = copies.map(({ draw: own, drawn }, copy): PlannedRequest => {
    // The second one is the repetition, so that a count of them is one of callbacks that were repeated.
    const ofThis = shared.filter((name) => (name === 'duplicate' ? copy > 0 : name !== 'noAuthKey' || isKeyless))
    const rest = isKeyless ? drawn.filter((name) => faultRow(name).slot !== faultRow('noAuthKey').slot) : drawn
    return { faults: effective([...ofThis, ...onePerSlot(rest, own)]), draw: own }
  })
  return { text: new Set(shared.filter((name) => name === 'nulText' || name === 'badUtf8')), draw, requests }
}

/** Of several faults of one slot, each drawn for itself, every one has the same chance to stay. */
function onePerSlot(drawn: readonly FaultName[], draw: Draw): readonly FaultName[] {
  return drawn.filter((name) => {
    const { slot } = faultRow(name)
    if (slot === undefined) return true
    const rivals = drawn.filter((other) => faultRow(other).slot === slot)
    return rivals[Math.floor(draw(`slot ${slot}`) * rivals.length)] === name
  })
}

/** Takes away what another fault makes void, and lists the rest in the table's order. */
function effective(faults: readonly FaultName[]): ReadonlySet<FaultName> {
  const left = new Set(FAULT_NAMES.filter((name) => faults.includes(name)))
  // Nothing goes out, so nothing else can happen to it.
  if (left.has('drop')) return new Set([...left].filter((name) => name === 'drop' || name === 'duplicate'))
  // A proof over a body that never comes to its end is no proof, whatever is wrong with it.
  if (left.has('connectionReset')) for (const name of left) if (faultRow(name).slot === 'proof') left.delete(name)
  // What is right for these shows in the answer, and a half-closed connection may have none.
  if (isJudgedByTheSecond(left)) left.delete('halfClose')
  return left
}
