/** How much more may be leased here: an event for each free slot, and where handlers are quick, some that wait for one. */
import type { Clock } from '../clock.ts'
import type { ClaimRequest, OpenStore } from '../inbox/store.ts'
import type { Lease } from './lease.ts'
import type { Leased } from './leased.ts'
import { createPace } from './pace.ts'
import type { Slots } from './slots.ts'

/** Events in our hands for each slot: while the store settles what has run, others run; where it is slow, no more are taken. */
const MOST_A_SLOT = 4

interface RoomOptions {
  readonly clock: Clock
  readonly concurrency: number
  readonly slots: Slots
  readonly leased: Leased
  readonly lease: Lease
}

export interface Room {
  /** A request for at most so many events as there is room for; undefined where there is none. `exclude`: of these messages none. */
  ask(store: OpenStore<object>, most: number, exclude: ClaimRequest['exclude']): ClaimRequest | undefined
  /** The request is under way: there is room for what it may bring. */
  hold(request: ClaimRequest): void
  /** It has brought what it brings, or will not in time. False where its room had been given back before. */
  giveBack(request: ClaimRequest): boolean
  /** Requests are under way. */
  readonly isHeld: boolean
  /** The handlers of an event took so long: so long others wait for its slot. */
  took(ms: number): void
}

export function createRoom({ clock, concurrency, slots, leased, lease }: RoomOptions): Room {
  const pace = createPace(MOST_A_SLOT - 1)
  const underWay: ClaimRequest[] = []

  function free({ contextFor }: OpenStore<object>): number {
    let asked = 0
    for (const { limit } of underWay) asked += limit
    // What the store gives to handlers may be in use from the claim on.
    const ahead = contextFor === undefined ? pace.ahead * concurrency : 0
    return Math.min(slots.free + ahead, MOST_A_SLOT * concurrency - leased.atWork) - asked
  }

  return {
    ask(store, most, exclude) {
      const limit = Math.min(most, free(store))
      if (limit <= 0) return undefined
      const nowMs = clock.now()
      return { limit, nowMs, leaseUntilMs: lease.untilMs(nowMs), exclude }
    },
    hold: (request) => void underWay.push(request),
    giveBack(request) {
      const place = underWay.indexOf(request)
      if (place !== -1) underWay.splice(place, 1)
      return place !== -1
    },
    get isHeld() {
      return underWay.length > 0
    },
    took: pace.took,
  }
}
