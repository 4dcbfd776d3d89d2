/** The external events of a world: callbacks and faults, each at its time. A seed makes a plan; shrinking cuts it down. */
import { someCallbacks, type Callback } from './callbacks.ts'
import { between, oneOf, randomOf, wholeBetween, type Random } from './random.ts'

export interface Plan {
  /** Seeds everything that is not listed: latencies, handlers, what a failing disk keeps. */
  readonly seed: number
  readonly processes: number
  readonly spool: boolean
  readonly concurrency: number
  /** The share of attempts whose handlers throw; that hang; that end at once. */
  readonly throwing: number
  readonly hanging: number
  readonly quick: number
  readonly operations: readonly Operation[]
}

export type Operation = { readonly atMs: number } & (
  | { readonly kind: 'callback'; readonly process: number; readonly callback: Callback }
  | { readonly kind: 'kill'; readonly process: number; readonly forMs: number }
  | { readonly kind: 'stop'; readonly process: number; readonly forMs: number }
  | { readonly kind: 'close'; readonly process: number; readonly forMs: number; readonly deadlineMs: number }
  | { readonly kind: 'power'; readonly forMs: number }
  | { readonly kind: 'unavailable'; readonly forMs: number }
  | { readonly kind: 'slow'; readonly forMs: number }
  | { readonly kind: 'full'; readonly forMs: number }
  | { readonly kind: 'failing'; readonly forMs: number }
  | { readonly kind: 'lossy'; readonly forMs: number; readonly share: number }
  | { readonly kind: 'restart' }
  | { readonly kind: 'poison'; readonly callback: Callback; readonly how: 'soft' | 'hard' }
  | { readonly kind: 'clock'; readonly byMs: number }
  | { readonly kind: 'replay'; readonly process: number }
)

/** The operations that a store, or its environment, supports. */
export interface Scope {
  /** The store outlives the process, so processes may share it. */
  readonly isDurable: boolean
  /** The machine's clock may be set back: a store that forgets with its process learns the earlier time from no other store. */
  readonly setsBack: boolean
}

const SOMETIMES = 0.4

export function planOf(seed: number, { isDurable, setsBack }: Scope): Plan {
  const random = randomOf(seed, 'plan')
  const processes = isDurable ? wholeBetween(random, 1, 3) : 1
  const lengthMs = oneOf(random, [2_000, 10_000, 40_000])
  const callbacks = someCallbacks(random, wholeBetween(random, 1, 10), wholeBetween(random, 5, 70))
  const process = (): number => wholeBetween(random, 0, processes - 1)
  const spool = isDurable && random() < 0.8
  const operations: Operation[] = callbacks.flatMap((callback) => {
    const first: Operation = { kind: 'callback', atMs: between(random, 0, lengthMs), process: process(), callback }
    const again = random() < 0.2
    return again ? [first, { ...first, atMs: between(random, 0, lengthMs), process: process() }] : [first]
  })
  const kinds = (isDurable ? MISFORTUNES : MISFORTUNES_IN_MEMORY).filter(() => random() < SOMETIMES)
  for (const make of kinds)
    for (let left = wholeBetween(random, 1, 3); left > 0; left -= 1)
      operations.push(make({ random, atMs: between(random, 0, lengthMs), lengthMs, process, callbacks, setsBack }))
  return {
    seed,
    processes,
    spool,
    concurrency: oneOf(random, [1, 2, 4, 16]),
    throwing: oneOf(random, [0, 0.1, 0.4]),
    hanging: oneOf(random, [0, 0, 0.1]),
    quick: oneOf(random, [0, 0.5, 1]),
    operations: operations.toSorted((a, b) => a.atMs - b.atMs),
  }
}

interface Circumstances {
  readonly random: Random
  readonly atMs: number
  readonly lengthMs: number
  readonly process: () => number
  readonly callbacks: readonly Callback[]
  readonly setsBack: boolean
}

type Misfortune = (circumstances: Circumstances) => Operation

function lasting(kind: 'unavailable' | 'slow' | 'full' | 'failing'): Misfortune {
  return ({ random, atMs, lengthMs }) => ({ kind, atMs, forMs: between(random, 10, lengthMs) })
}

const poison: Misfortune = ({ random, callbacks }) => {
  const [first, ...others] = callbacks
  if (first === undefined) return { kind: 'clock', atMs: 0, byMs: 0 }
  return { kind: 'poison', atMs: 0, callback: oneOf(random, [first, ...others]), how: oneOf(random, ['soft', 'hard']) }
}

const MISFORTUNES_IN_MEMORY: readonly Misfortune[] = [
  ({ random, atMs, setsBack }) => ({
    kind: 'clock',
    atMs,
    byMs: Math.round(between(random, setsBack ? -3_600_000 : 0, 3_600_000)),
  }),
  ({ random, atMs, process }) => ({ kind: 'stop', atMs, process: process(), forMs: between(random, 10, 60_000) }),
  ({ atMs, process }) => ({ kind: 'replay', atMs: atMs * 3, process: process() }),
]

const MISFORTUNES: readonly Misfortune[] = [
  ...MISFORTUNES_IN_MEMORY,
  poison,
  lasting('unavailable'),
  lasting('slow'),
  lasting('full'),
  lasting('failing'),
  ({ random, atMs, lengthMs }) => ({
    kind: 'lossy',
    atMs,
    forMs: between(random, 10, lengthMs),
    share: oneOf(random, [0.1, 0.5]),
  }),
  ({ atMs }) => ({ kind: 'restart', atMs }),
  ({ random, atMs, process }) => ({ kind: 'kill', atMs, process: process(), forMs: between(random, 1, 5_000) }),
  ({ random, atMs, process }) => ({
    kind: 'close',
    atMs,
    process: process(),
    forMs: between(random, 1, 5_000),
    deadlineMs: oneOf(random, [0, 500, 10_000]),
  }),
  ({ random, atMs }) => ({ kind: 'power', atMs, forMs: between(random, 1, 5_000) }),
]
