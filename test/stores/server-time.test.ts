/** The estimate of the store's clock stays within what each answer proves, however long the answer took. */
import { expect, test } from 'vitest'
import { monotonicMs } from '../../src/runtime/clock.ts'
import { createServerClock } from '../../src/stores/server-time.ts'

const HOUR_MS = 3_600_000

test('a request that waited long before it was sent does not put the clock an hour, or half the wait, ahead', () => {
  const clock = createServerClock()
  const storeMs = 10 * HOUR_MS
  clock.note(storeMs, monotonicMs() - HOUR_MS)
  expect(clock.nowMs()).toBeLessThan(storeMs + HOUR_MS / 4)
  clock.note(storeMs, monotonicMs() - HOUR_MS)
  expect(clock.nowMs()).toBeLessThan(storeMs + HOUR_MS / 4)
})

test('the next answer follows a clock that is set forward or back', () => {
  const clock = createServerClock()
  for (const storeMs of [10 * HOUR_MS, 20 * HOUR_MS, 5 * HOUR_MS]) {
    clock.note(storeMs, monotonicMs())
    expect(Math.abs(clock.nowMs() - storeMs)).toBeLessThan(HOUR_MS / 4)
  }
})
