/** Retention never trusts one reading of a clock: whatever a clock does for less than an hour, no data counts as older. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTrustedTime } from '../../src/stores/trusted-time.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const START_MS = 1_700_000_000_000

interface Reading {
  /** Since the last reading. */
  readonly afterMs: number
  /** How far the clock is ahead of the true time. */
  readonly aheadMs: number
}

/** The trusted time minus the true time, after each reading. */
function aheadAfter(readings: readonly Reading[], lastMs: number | undefined): readonly number[] {
  let elapsedMs = 0
  const trusted = createTrustedTime(lastMs, () => elapsedMs)
  return readings.map(({ afterMs, aheadMs }) => {
    elapsedMs += afterMs
    return trusted.ofNow(START_MS + elapsedMs + aheadMs) - (START_MS + elapsedMs)
  })
}

const reading = (afterMs: number): fc.Arbitrary<Reading> =>
  fc.record({
    afterMs: fc.integer({ min: 1, max: afterMs }),
    aheadMs: fc.oneof(fc.constant(0), fc.integer({ min: -400 * DAY_MS, max: 400 * DAY_MS })),
  })

test('jumps ahead that end within an hour, in any number and order, never count', () => {
  const jumps = fc
    .array(reading(MINUTE_MS), { maxLength: 50 })
    .map((readings) => [
      ...readings.map((each, index) => ({ ...each, aheadMs: index % 2 === 0 ? 0 : Math.max(0, each.aheadMs) })),
    ])
  fc.assert(
    fc.property(jumps, (readings) => {
      for (const ahead of aheadAfter(readings, START_MS)) expect(ahead).toBeLessThanOrEqual(MINUTE_MS * 51)
    }),
  )
})

test('a clock that was far ahead at one start does not count before an hour has passed, and then by its least reading', () => {
  const far = fc.integer({ min: 2 * MINUTE_MS, max: 400 * DAY_MS })
  fc.assert(
    fc.property(far, (aheadMs) => {
      const steps = Array.from({ length: 62 }, () => ({ afterMs: MINUTE_MS, aheadMs }))
      const seen = aheadAfter(steps, START_MS)
      for (const ahead of seen.slice(0, 60)) expect(ahead).toBe(0)
      expect(seen.at(-1)).toBe(aheadMs)
    }),
  )
})

test('a clock set back counts at once, so that data is kept for longer rather than shorter', () => {
  fc.assert(
    fc.property(fc.array(reading(HOUR_MS), { minLength: 1, maxLength: 50 }), (readings) => {
      const seen = aheadAfter(readings, undefined)
      for (const [index, { aheadMs }] of readings.entries()) expect(seen[index]).toBeLessThanOrEqual(aheadMs)
    }),
  )
})

test('time goes on between readings', () => {
  let elapsedMs = 0
  const trusted = createTrustedTime(undefined, () => elapsedMs)
  expect(trusted.ofNow(START_MS)).toBe(START_MS)
  elapsedMs = DAY_MS
  expect(trusted.ofNow(START_MS + DAY_MS)).toBe(START_MS + DAY_MS)
})
