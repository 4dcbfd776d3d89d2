/** One message and a sequence of decisions about it. */
import { expect } from 'vitest'
import { admit, lease, settle } from '../../src/messages/events.ts'
import type { Decision, MessageRecord } from '../../src/messages/record.ts'
import { LIMITS, NOW_MS, report } from './records.ts'

export const LEASE_MS = 1_000

/** Decisions get frozen data. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const each of Object.values(value)) frozen(each)
  }
  return value
}

/** A message to which one decision is applied after another. */
export function message(start?: MessageRecord) {
  let record = start
  return {
    get record() {
      return record
    },
    apply<A>(decide: (known: MessageRecord | undefined) => Decision<A>): A {
      const decided = decide(frozen(record))
      record = decided.record ?? record
      return decided.answer
    },
    admit(at: number, more = {}, nowMs = NOW_MS) {
      return this.apply((known) => admit(known, report(at, more), nowMs, LIMITS))
    },
    lease(nowMs = NOW_MS) {
      return this.apply((known) => lease(known, { nowMs, untilMs: nowMs + LEASE_MS, worker: 'w' }))
    },
    done(id: string, token: number) {
      return this.apply((known) => settle(known, { id, token, outcome: 'done' }, NOW_MS))
    },
    die(nowMs = NOW_MS): string {
      const leased = this.lease(nowMs)
      if (leased === undefined) throw new Error('Nothing was due.')
      const { id, token } = leased
      expect(this.apply((known) => settle(known, { id, token, outcome: 'dead', error: 'no' }, nowMs))).toBe(true)
      return id
    },
  }
}
