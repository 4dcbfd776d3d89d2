/** More events than an index of the newest holds: pages, one after another, list each once, newest first. */
import type { MessageStore } from 'messaging-webhooks/store'
import { expect } from 'vitest'
import { dispatchAll } from '../../src/store-conformance/delivery.ts'
import { admit, samplesOf } from '../../src/store-conformance/samples.ts'
import { die, itemsOf } from '../../src/store-conformance/suite.ts'

const BATCH = 100

export async function checkDeepListing(open: MessageStore<object>, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const events = [...samplesOf(BATCH, `m${from}-`)]
    // Some die on the way, and stay where they were admitted.
    if (from % 2_000 === 0) await die(open, events.splice(0, 60))
    await admit(open, events)
    if (from + BATCH < count) await dispatchAll(open)
  }
  const found = await itemsOf(open, { of: 'events', after: undefined, limit: 50 })
  expect(new Set(found.map(({ id }) => id)).size).toBe(count)
  expect(found).toHaveLength(count)
  const times = found.map(({ atMs }) => atMs ?? 0)
  expect(times).toEqual(times.toSorted((a, b) => b - a))
}
