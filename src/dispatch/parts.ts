/** What the functions of this folder work with: what the dispatcher was given, and its parts, each of which owns its state. */
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
  /** What has succeeded of events between two attempts; after a restart all of their handlers run. */
  readonly succeeded: LRUCache<string, readonly Registration[]>
}

/** Events whose succeeded handlers are remembered. */
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
