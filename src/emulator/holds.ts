/** Holds requests back before they are posted: delayed, reordered, or gathered into a burst. */
import type { Clock } from '../runtime/clock.ts'
import type { PlannedRequest } from './faults.ts'
import { wholeNumber } from './random.ts'

/** The message of a request, and the number of callbacks before it. */
export interface Place {
  /** Undefined for a callback without a message. */
  readonly message: string | undefined
  readonly nth: number
}

const SHORTEST_DELAY_MS = 10
const LONGEST_DELAY_MS = 1_500
const LONGEST_REORDER_MS = 1_000
const BURST_SIZE = 10
const LONGEST_BURST_MS = 250

interface Held {
  readonly place: Place
  readonly why: 'delay' | 'reorder' | 'burst'
  go(): void
}

export function createHolds(clock: Clock) {
  const waiting = new Set<Held>()
  let isReleased = false

  function hold(why: Held['why'], place: Place, longestMs: number): Promise<void> {
    return new Promise((resolve) => {
      const held: Held = {
        place,
        why,
        go() {
          cancel()
          waiting.delete(held)
          resolve()
        },
      }
      // The timer of the first one releases the whole burst.
      const cancel = clock.setTimer(why === 'burst' ? goBurst : held.go, longestMs, true)
      waiting.add(held)
      if (why === 'burst' && burst().length >= BURST_SIZE) goBurst()
    })
  }

  function burst(): readonly Held[] {
    return [...waiting].filter(({ why }) => why === 'burst')
  }

  function goBurst(): void {
    for (const held of burst()) held.go()
  }

  return {
    /** Resolves when the request may be posted. */
    wait({ faults, draw }: PlannedRequest, place: Place): Promise<void> {
      if (isReleased) return Promise.resolve()
      if (faults.has('delay'))
        return hold('delay', place, wholeNumber(draw('delay'), SHORTEST_DELAY_MS, LONGEST_DELAY_MS))
      if (faults.has('reorder')) return hold('reorder', place, LONGEST_REORDER_MS)
      if (faults.has('burst')) return hold('burst', place, LONGEST_BURST_MS)
      return Promise.resolve()
    },
    /** Releases requests that waited to be overtaken by this one. */
    passed({ message, nth }: Place): void {
      for (const held of [...waiting])
        if (held.why === 'reorder' && held.place.message === message && held.place.nth < nth) held.go()
    },
    /** Releases all requests, now and in future. */
    release(): void {
      isReleased = true
      for (const held of [...waiting]) held.go()
    },
  }
}
