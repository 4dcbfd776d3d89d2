/** More events than an index of the newest holds: pages, one after another, list each once, newest first. */
import type { OpenStore } from 'messaging-webhooks/store'
import { expect } from 'vitest'
import { admit, dispatchAll, sample, START_MS } from '../../src/store-conformance/samples.ts'
import { die } from '../../src/store-conformance/suite.ts'

export async function checkDeepListing(open: OpenStore<object>, count: number): Promise<void> {
  const batch = 100
  for (let at = 0; at < count; at += batch) {
    const atMs = START_MS + at
    const events = Array.from({ length: batch }, (_, nth) => {
      const event = sample({ message: `m${at + nth}` })
      return { ...event, record: { ...event.record, receivedAtMs: atMs } }
    })
    // Some die on the way, and stay where they were admitted.
    if (at % 2_000 === 0) await die(open, events.splice(0, 60), atMs)
    await admit(open, events, atMs)
    if (at + batch < count) await dispatchAll(open, atMs)
  }
  const found: { readonly id: string; readonly atMs: number | undefined }[] = []
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const { items, next } = await open.events({ after, limit: 50 })
    found.push(...items)
    after = next
  }
  expect(new Set(found.map(({ id }) => id)).size).toBe(count)
  expect(found).toHaveLength(count)
  const times = found.map(({ atMs }) => atMs ?? 0)
  expect(times).toEqual(times.toSorted((a, b) => b - a))
}
