/** The clock that does not go back with the machine's. */
import { expect, test } from 'vitest'
import { steadyClock } from '../../src/runtime/clock.ts'

test('does not go back with the wall clock, and goes on with it', () => {
  let wallMs = 10_000_000
  const clock = steadyClock({ now: () => wallMs, setTimer: () => () => {}, soon() {} })
  expect(clock.now()).toBe(10_000_000)
  wallMs -= 3_600_000
  expect(clock.now()).toBe(10_000_000)
  wallMs += 1_000
  expect(clock.now()).toBe(10_001_000)
})
