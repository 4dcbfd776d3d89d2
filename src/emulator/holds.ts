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

  function release(which: (held: Held) => boolean): void {
    for (const held of [...waiting].filter(which)) held.go()
  }

  const isOfBurst = ({ why }: Held): boolean => why === 'burst'

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
      const cancel = clock.setTimer(() => (why === 'burst' ? release(isOfBurst) : held.go()), longestMs, true)
      waiting.add(held)
      if (why === 'burst' && [...waiting].filter(isOfBurst).length >= BURST_SIZE) release(isOfBurst)
    })
  }

  return {
    /** Resolves when the request may be posted. */
    async wait({ faults, draw }: PlannedRequest, place: Place): Promise<void> {
      if (isReleased) return
      if (faults.has('delay'))
        await hold('delay', place, wholeNumber(draw('delay'), SHORTEST_DELAY_MS, LONGEST_DELAY_MS))
      else if (faults.has('reorder')) await hold('reorder', place, LONGEST_REORDER_MS)
      else if (faults.has('burst')) await hold('burst', place, LONGEST_BURST_MS)
    },
    /** Releases requests that waited to be overtaken by this one. */
    passed: ({ message, nth }: Place): void =>
      release(({ why, place }) => why === 'reorder' && place.message === message && place.nth < nth),
    /** Releases all requests, now and in future. */
    release(): void {
      isReleased = true
      release(() => true)
    },
  }
}
