/** Wraps the operations of stores on servers: notifies other processes when an event may be due for them. */
import { systemClock } from '../runtime/clock.ts'
import type { SharedStore, VersionedChange } from '../inbox/record-store.ts'
import type { Verbs } from '../inbox/runtime/open-store.ts'
import { isKept, type Awaitable, type StoreHost } from '../inbox/store.ts'

/** Holding settlements back for some milliseconds halves the round trips of many processes with little load. */
export const SETTLE_LINGER_MS = 25

interface Announcing {
  /** Notifies other processes that an event may be due. */
  readonly announce: () => void
  /** Notifies other processes of events that were admitted here and not leased. */
  readonly announceAdmitted: () => void
  readonly onWork: StoreHost['onWork']
}

type Announced = Pick<Verbs, 'admit' | 'admitAndClaim' | 'resolve' | 'forget' | 'expect' | 'admitOverdue'>

export function announcing(verbs: Verbs, { announce, announceAdmitted, onWork }: Announcing): Announced {
  async function after<T>(answer: Awaitable<T>, isDue: (answered: T) => boolean, notify = announce): Promise<T> {
    const answered = await answer
    if (isDue(answered)) notify()
    return answered
  }

  return {
    admit: (events, nowMs) =>
      after(verbs.admit(events, nowMs), (admissions) => admissions.some(isKept), announceAdmitted),
    async admitAndClaim(events, request) {
      try {
        return await after(
          verbs.admitAndClaim(events, request),
          // Duplicates, and events leased here, are not due for others.
          ({ admissions, claims }) => admissions.filter(isKept).length > claims.length,
          announceAdmitted,
        )
      } catch (error) {
        // The leases may have been granted all the same. The next claim takes them back.
        systemClock().soon(onWork)
        throw error
      }
    },
    resolve: (id, resolution, nowMs) =>
      after(verbs.resolve(id, resolution, nowMs), (isResolved) => isResolved && resolution !== 'discard'),
    forget: (request, nowMs) =>
      after(verbs.forget(request, nowMs), ({ unsettled }) => unsettled > 0 && !request.dryRun),
    expect: (messages, nowMs) => after(verbs.expect(messages, nowMs), (answers) => answers.includes(true)),
    admitOverdue: (events, nowMs) => after(verbs.admitOverdue(events, nowMs), (answers) => answers.includes(true)),
  }
}

/** Calls `onWork` after the settlement of an event if other events of its message wait. */
export function announcingRest(write: SharedStore['write'], onWork: StoreHost['onWork']): SharedStore['write'] {
  return async (changes, asOfMs, pending) => {
    const versions = await write(changes, asOfMs, pending)
    if (changes.some((change, index) => versions[index] !== undefined && leavesRest(change))) systemClock().soon(onWork)
    return versions
  }
}

function leavesRest({ before, after }: VersionedChange): boolean {
  return after !== undefined && after.waiting.length > 0 && before?.lease !== undefined && after.lease === undefined
}
