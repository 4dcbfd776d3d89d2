/** After a clock was set back, every message that waits for the later time becomes due, and each is asked for once. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { catchUp } from '../../src/stores/catch-up.ts'

/** A store with the times at which messages are due. Messages that are due now are found even after they caught up. */
function storeOf(dueMs: ReadonlyMap<string, number>) {
  const caughtUp: string[] = []
  const store = {
    dueBy: (ms: number, limit: number, exclude: ReadonlySet<string>) =>
      [...dueMs]
        .filter(([key, at]) => at <= ms && !exclude.has(key))
        .slice(0, limit)
        .map(([key]) => key),
    run: (commands: readonly { readonly do: 'catchUp'; readonly key: string }[]) => {
      caughtUp.push(...commands.map(({ key }) => key))
      return commands.map(() => true)
    },
  }
  return { store, caughtUp }
}

test('catches up with all that is due by the latest time, however many there are', async () => {
  const messages = fc.integer({ min: 0, max: 1_200 })
  await fc.assert(
    fc.asyncProperty(messages, fc.integer({ min: 0, max: 10_000_000 }), async (count, latestMs) => {
      const due = new Map(Array.from({ length: count }, (_, nth) => [`m${nth}`, (nth * 7_919) % (latestMs + 1)]))
      const { store, caughtUp } = storeOf(due)
      await catchUp(store, latestMs)
      expect(caughtUp.toSorted()).toEqual([...due.keys()].toSorted())
    }),
    { numRuns: 50 },
  )
})

test('includes leases and retries that end after the latest time', async () => {
  const { store, caughtUp } = storeOf(new Map([['leased', 1_000 + 60_000]]))
  await catchUp(store, 1_000)
  expect(caughtUp).toEqual(['leased'])
})
