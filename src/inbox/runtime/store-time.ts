/**
 * Times of callers as times of the store: a clock on another machine may be hours from that of this process, and a lease or a
 * retry is as long as it was meant to be.
 */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump } from '../record-store.ts'
import type { NewEvent, NewExpectation, Settlement } from '../store.ts'
import type { Verbs } from './open-store.ts'

/** The store's clock, as far as this process knows it. */
export interface StoreClock {
  nowMs(): number
  /** The store said that it was so late, in an answer to what was sent then (by `monotonicMs`). */
  note(storeMs: number, sentMs: number): void
}

/** The first answer of the store must have been heard. */
export function createStoreClock(): StoreClock {
  let aheadMs = -Infinity
  return {
    nowMs: () => Math.round(monotonicMs() + aheadMs),
    note(storeMs, sentMs) {
      // It was so late at some moment in between, and tells whole milliseconds. What was sent may have waited for a connection, or for a
      // lock.
      const [leastMs, mostMs] = [storeMs - monotonicMs(), storeMs + 1 - sentMs]
      aheadMs = Math.min(Math.max(aheadMs, leastMs), mostMs)
    },
  }
}

/** A process that was suspended knows the store's time again after the first answer. */
const MOST_ATTEMPTS = 4

/** The verbs that take times or answer them. */
export function inStoreTime(verbs: Verbs, clock: Pick<StoreClock, 'nowMs'>): Verbs {
  /** `by`: what to add to a time of the caller. */
  async function shifted<T>(nowMs: number, ask: (by: number) => T): Promise<Awaited<T>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask(clock.nowMs() - nowMs)
      } catch (error) {
        if (!(error instanceof ClockJump)) throw error
        // Nothing that was sent is to blame.
        if (attempt === MOST_ATTEMPTS)
          throw new MessagingWebhooksError('store_slow', 'It answers too late, or its clock jumps.', { cause: error })
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
    settle: (settlements, nowMs, lazily) =>
      shifted(nowMs, (by) => verbs.settle(settlements.map(settlementIn(by)), nowMs + by, lazily)),
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
