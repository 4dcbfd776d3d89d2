import { expect, test } from 'vitest'
import { createOutage } from '../../src/inbox/outage.ts'
import { sample } from '../../src/store-conformance/samples.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { quietAvailability } from '../support/inbox.ts'

test('polls an unavailable store less and less often, and stops when asked', async () => {
  const clock = fakeClock()
  let looks = 0
  const outage = createOutage({
    clock,
    spool: { size: 1, append: async () => {}, empty: (take) => take([sample()]) },
    waitMs: 1_000,
    takeFromSpool() {
      looks += 1
      return Promise.reject(new Error('unavailable'))
    },
    admit: () => Promise.resolve('new'),
    availability: quietAvailability(),
    onOver: () => {},
  })
  expect(outage.active).toBe(true)
  for (let second = 0; second < 60; second += 1) await clock.advance(1_000)
  expect(looks).toBeGreaterThan(5)
  expect(looks).toBeLessThan(20)
  outage.stop()
  const before = looks
  await clock.advance(60_000)
  expect(looks).toBe(before)
})
