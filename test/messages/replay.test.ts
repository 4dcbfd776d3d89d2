/** A failed attempt is retried within its ceiling, and the last one leads to the dead letters. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { delayAfterFailure } from '../../src/messages/replay.ts'

const POLICY = { attempts: 4, initialDelayMs: 1_000, maxDelayMs: 3_000 }

test('the ceiling doubles up to the maximum, and there is no delay after the last attempt', () => {
  expect([1, 2, 3, 4, 5].map((attempt) => delayAfterFailure(attempt, POLICY, 1))).toEqual([
    1_000,
    2_000,
    3_000,
    undefined,
    undefined,
  ])
})

test('every delay is between zero and the ceiling of the first attempts', () => {
  const number = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), number, (attempt, random) => {
      const delayMs = delayAfterFailure(attempt, POLICY, random)
      expect(delayMs).toBeGreaterThanOrEqual(0)
      expect(delayMs).toBeLessThanOrEqual(Math.min(3_000, 1_000 * 2 ** (attempt - 1)))
    }),
  )
})
