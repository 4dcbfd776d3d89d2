/** Which faults a callback meets: decided by the seed and by the callback's own name, whatever was made before it. */
import { drawsOf, type Draw, type Seed } from './draws.ts'
import { FAULT_NAMES, faultRow, isJudgedByTheSecond, type FaultName } from './faults.ts'
import type { FaultRates } from './rates.ts'

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

const OF_THE_CALLBACK = ['duplicate', 'nulText', 'badUtf8'] as const
const OF_A_REQUEST = FAULT_NAMES.filter((name) => !OF_THE_CALLBACK.some((other) => other === name))

/** The plan of a run. `key` names one callback in it. */
export function createFaultPlan({ rates, seed }: { readonly rates: FaultRates; readonly seed: Seed }): {
  of(key: string): PlannedCallback
} {
  function isDrawn(name: FaultName, draw: Draw): boolean {
    const rate = rates[name] ?? 0
    return rate > 0 && draw(name) < rate
  }

  return {
    of(key) {
      const draw = drawsOf(seed, 'callback', key)
      const shared = OF_THE_CALLBACK.filter((name) => isDrawn(name, draw))
      const copies = shared.includes('duplicate') ? 2 : 1
      const requests = Array.from({ length: copies }, (_, copy): PlannedRequest => {
        const own = drawsOf(seed, 'request', key, copy)
        const drawn = OF_A_REQUEST.filter((name) => isDrawn(name, own))
        // The second one is the repetition, so that a count of them is one of callbacks that were repeated.
        const ofThis = shared.filter((name) => name !== 'duplicate' || copy > 0)
        return { faults: effective([...ofThis, ...onePerSlot(drawn, own)]), draw: own }
      })
      return { text: new Set(shared.filter((name) => name !== 'duplicate')), draw, requests }
    },
  }
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
  if (left.has('drop')) return new Set(FAULT_NAMES.filter((name) => left.has(name) && isOfDropped(name)))
  // A proof over a body that never comes to its end is no proof, whatever is wrong with it.
  if (left.has('connectionReset')) for (const name of left) if (faultRow(name).slot === 'proof') left.delete(name)
  // What is right for these shows in the answer, and a half-closed connection may have none.
  if (isJudgedByTheSecond(left)) left.delete('halfClose')
  return left
}

function isOfDropped(name: FaultName): boolean {
  return name === 'drop' || name === 'duplicate'
}
