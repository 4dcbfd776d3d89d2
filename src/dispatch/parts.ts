/** The parts of the dispatcher. Each owns its state. */
import { LRUCache } from 'lru-cache'
import { createClaimLoop, type ClaimLoop } from './claim-loop.ts'
import type { Registration } from './handlers.ts'
import { createLeases, type Leases } from './leases.ts'
import { createSettlements, type Settlements } from './settlements.ts'
import { createSlots, type Slots } from './slots.ts'
import { createWaiting, type Waiting } from './waiting.ts'
import type { DispatchOptions, Observers, Phase, Work } from './work.ts'

export interface Parts extends DispatchOptions {
  readonly phase: Phase
  readonly observers: Observers
  readonly waiting: Waiting
  readonly slots: Slots
  readonly loop: ClaimLoop
  readonly leases: Leases
  readonly settlements: Settlements
  /** Handlers that succeeded in earlier attempts of an event. Lost at a restart: then all its handlers run. */
  readonly succeeded: LRUCache<string, readonly Registration[]>
}

/** Maximum number of events whose succeeded handlers are remembered. */
const PARTLY_DONE_KEPT = 10_000

export function createParts(
  options: DispatchOptions,
  given: Pick<Parts, 'phase' | 'observers'> & { readonly begin: (work: Work) => void },
): Parts {
  const { clock, concurrency, shared, report, handlers } = options
  const { phase, observers, begin } = given
  const waiting = createWaiting(clock)
  const slots = createSlots({ clock, concurrency, waiting, handlers, begin })
  const loop = createClaimLoop({ ...options, slots, waiting, observers, phase })
  return {
    ...options,
    phase,
    observers,
    waiting,
    slots,
    loop,
    leases: createLeases({ clock, shared, report, slots, loop, phase }),
    settlements: createSettlements({ ...options, observers, phase }),
    succeeded: new LRUCache({ max: PARTLY_DONE_KEPT }),
  }
}
