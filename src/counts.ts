/**
 * What a receiver has counted since it was created. It is on every callback's way, so each count is a plain increment; the
 * body is read again for a premium callback alone, since nothing else tells its type.
 */
import { typeOf, type ReviveOptions } from './dispatch/revive.ts'
import { EVENT_TYPES, type EventType } from './events.ts'
import type { Admission, NewEvent } from './inbox/store.ts'

/** Of this process, since the receiver was created. */
export interface Counts {
  /** Callbacks that were answered 204, the duplicates among them included. */
  readonly taken: number
  /** The events among them, duplicates left out, by the type that handlers get them as, before a schema is asked. */
  readonly byType: Readonly<Record<EventType, number>>
  readonly duplicates: number
  readonly late: number
  /** Requests that were answered with anything else, but for 405. */
  readonly refused: number
}

interface Counter {
  taken(event: NewEvent, admission: Admission): void
  refused(): void
  /** As they are now. */
  all(): Counts
}

export function createCounter(reviving: ReviveOptions): Counter {
  // `fromEntries` forgets the names, which are all there are.
  const byType = Object.fromEntries(EVENT_TYPES.map((type) => [type, 0])) as Record<EventType, number>
  let taken = 0
  let duplicates = 0
  let late = 0
  let refused = 0

  return {
    taken({ id, record, raw }, admission) {
      taken += 1
      if (admission === 'duplicate') {
        duplicates += 1
        return
      }
      const isLate = admission === 'late'
      if (isLate) late += 1
      byType[typeOf({ id, late: isLate, record, raw }, reviving)] += 1
    },
    refused() {
      refused += 1
    },
    all: () => ({ taken, byType: { ...byType }, duplicates, late, refused }),
  }
}
