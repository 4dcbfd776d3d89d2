/**
 * Converts callers' times to store times, so that leases and retries last as intended when the clocks of two machines differ,
 * even by hours.
 */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump } from '../record-store.ts'
import type { NewEvent, NewExpectation, Settlement } from '../store.ts'
import type { Verbs } from './open-store.ts'

/** The store's clock, as estimated by this process. */
export interface StoreClock {
  nowMs(): number
  /** Records a time that the store returned to a request sent at `sentMs` (by `monotonicMs`). */
  note(storeMs: number, sentMs: number): void
}

/** Valid after the first response of the store. */
export function createStoreClock(): StoreClock {
  let aheadMs = -Infinity
  return {
    nowMs: () => Math.round(monotonicMs() + aheadMs),
    note(storeMs, sentMs) {
      // The store read its clock between sending and now, in whole milliseconds. The request may have waited for a connection
      // or a lock.
      const [leastMs, mostMs] = [storeMs - monotonicMs(), storeMs + 1 - sentMs]
      aheadMs = Math.min(Math.max(aheadMs, leastMs), mostMs)
    },
  }
}

/** Tolerance between the store's clock and a process's estimate of it. */
export const MOST_APART_MS = 2_000

export function refuseJump(storeMs: number, asOfMs: number | undefined): void {
  if (asOfMs !== undefined && Math.abs(storeMs - Math.round(asOfMs)) > MOST_APART_MS) throw new ClockJump()
}

/** After a suspension, the first response corrects the estimate. */
const MOST_ATTEMPTS = 4

/** Shifts the times of all methods that take or return times. */
export function inStoreTime(verbs: Verbs, clock: Pick<StoreClock, 'nowMs'>): Verbs {
  /** `by`: the offset to add to a caller's time. */
  async function shifted<T>(nowMs: number, ask: (by: number) => T): Promise<Awaited<T>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask(clock.nowMs() - nowMs)
      } catch (error) {
        if (!(error instanceof ClockJump)) throw error
        if (attempt === MOST_ATTEMPTS)
          throw new MessagingWebhooksError('store_slow', 'Its answers are late, or its clock jumps.', { cause: error })
      }
    }
  }

  return {
    ...verbs,
    admit: (events, nowMs) => shifted(nowMs, (by) => verbs.admit(events.map(eventIn(by)), nowMs + by)),
    admitAndClaim: (events, request) =>
      shifted(request.nowMs, (by) => verbs.admitAndClaim(events.map(eventIn(by)), later(request, by))),
    claim: (request) =>
      shifted(request.nowMs, async (by) => {
        const { claims, nextDueMs } = await verbs.claim(later(request, by))
        return { claims, nextDueMs: nextDueMs === undefined ? undefined : nextDueMs - by }
      }),
    settle: (settlements, nowMs, deferrable) =>
      shifted(nowMs, (by) => verbs.settle(settlements.map(settlementIn(by)), nowMs + by, deferrable)),
    resolve: (id, resolution, nowMs) => shifted(nowMs, (by) => verbs.resolve(id, resolution, nowMs + by)),
    prune: (nowMs) => shifted(nowMs, (by) => verbs.prune(nowMs + by)),
    forget: (request, nowMs) => shifted(nowMs, (by) => verbs.forget(request, nowMs + by)),
    expect: (messages, nowMs) => shifted(nowMs, (by) => verbs.expect(messages.map(sendIn(by)), nowMs + by)),
    overdue: (request) =>
      shifted(request.nowMs, async (by) => {
        const { items, nextMs } = await verbs.overdue({ ...request, nowMs: request.nowMs + by })
        return { items, nextMs: nextMs === undefined ? undefined : nextMs - by }
      }),
    admitOverdue: (events, nowMs) => shifted(nowMs, (by) => verbs.admitOverdue(events.map(eventIn(by)), nowMs + by)),
    awaitNoMore: (ended, nowMs) => shifted(nowMs, (by) => verbs.awaitNoMore(ended, nowMs + by)),
  }
}

function later<T extends { readonly nowMs: number; readonly leaseUntilMs: number }>(request: T, by: number): T {
  return { ...request, nowMs: request.nowMs + by, leaseUntilMs: request.leaseUntilMs + by }
}

function eventIn(by: number): (event: NewEvent) => NewEvent {
  return (event) => (event.awaits === 0 ? event : { ...event, gapUntilMs: event.gapUntilMs + by })
}

function sendIn(by: number): (sent: NewExpectation) => NewExpectation {
  return (sent) => (sent.overdueAtMs === undefined ? sent : { ...sent, overdueAtMs: sent.overdueAtMs + by })
}

export function settlementIn(by: number): (settlement: Settlement) => Settlement {
  return (settlement) => ('dueMs' in settlement ? { ...settlement, dueMs: settlement.dueMs + by } : settlement)
}
