import { memoryStore, type MemoryStoreOptions } from 'messaging-webhooks'
import type { Claim, NewEvent, Settlement } from 'messaging-webhooks/store'
import { describe, expect, test } from 'vitest'
import { checkDeepListing } from '../deep-listing.ts'

const NO_KEYS: ReadonlySet<string> = new Set()
const DAY_MS = 86_400_000

async function openStore(options: MemoryStoreOptions = {}) {
  const store = await memoryStore(options).open({ onWork: () => {} })
  return {
    ...store,
    claimAt: async (nowMs: number, { limit = 10, leaseMs = 1_000, exclude = NO_KEYS } = {}) =>
      store.claim({ limit, nowMs, leaseUntilMs: nowMs + leaseMs, exclude }),
  }
}

function event(id: string, fields: Partial<NewEvent> = {}): NewEvent {
  const record = {
    project: undefined,
    kind: undefined,
    timestamp: 1,
    timestampSource: 'payload',
    receivedAtMs: 0,
    proof: 'both',
  } as const
  const place = { messageKey: id, order: '', final: false, step: 0, awaits: 0, gapUntilMs: 0 }
  return { id, ...place, record, raw: Buffer.alloc(10), ...fields }
}

const done = ({ id, messageKey, token }: Claim): Settlement => ({ id, messageKey, token, outcome: 'done' })

describe('bounds', () => {
  test('a store full of unsettled events accepts only duplicates until one is settled', async () => {
    const store = await openStore({ maxEvents: 2 })
    expect(await store.admit([event('a'), event('b'), event('c'), event('a')], 0)).toEqual([
      'new',
      'new',
      'full',
      'duplicate',
    ])
    const [first] = (await store.claimAt(0)).claims
    if (first !== undefined) await store.settle([done(first)], 0)
    expect(await store.admit([event('c')], 0)).toEqual(['new'])
  })

  test('bytes count too', async () => {
    const store = await openStore({ maxBytes: 25 })
    expect(await store.admit([event('a'), event('b'), event('c')], 0)).toEqual(['new', 'new', 'full'])
    expect(await store.admit([event('d', { raw: Buffer.alloc(5) })], 0)).toEqual(['new'])
  })

  test('only settled events are erased, the oldest first', async () => {
    const store = await openStore({ maxEvents: 3 })
    for (const id of ['a', 'b', 'c', 'd']) {
      await store.admit([event(id)], 0)
      const [claim] = (await store.claimAt(0)).claims
      if (claim !== undefined) await store.settle([done(claim)], 0)
    }
    // Of four settled events, the first is erased; a new one is accepted.
    expect(await store.admit([event('d'), event('c'), event('b'), event('a')], 0)).toEqual([
      'duplicate',
      'duplicate',
      'duplicate',
      'new',
    ])
    expect(await store.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
  })

  test('a settled event is known for dedupeDays and then erased; prune counts it', async () => {
    const store = await openStore({ dedupeDays: 2 })
    const start = 1_700_000_000_000
    await store.admit([event('a'), event('waiting', { gapUntilMs: start + 10 * DAY_MS, awaits: 1, order: '1' })], start)
    const [claim] = (await store.claimAt(start)).claims
    if (claim !== undefined) await store.settle([done(claim)], start)
    expect(await store.admit([event('a')], start + 2 * DAY_MS)).toEqual(['duplicate'])
    expect(await store.prune(start + 2 * DAY_MS)).toBe(0)
    expect(await store.prune(start + 2 * DAY_MS + 1)).toBe(1)
    expect(await store.prune(start + 2 * DAY_MS + 1)).toBe(0)
    expect(await store.admit([event('a'), event('waiting')], start + 2 * DAY_MS + 1)).toEqual(['new', 'duplicate'])
  })

  test('dead letters are bounded, the oldest goes first, and pages continue where the last one ended', async () => {
    const store = await openStore({ maxDeadLetters: 3 })
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      await store.admit([event(id)], 0)
      const [claim] = (await store.claimAt(0)).claims
      if (claim !== undefined) await store.settle([{ ...done(claim), outcome: 'dead', error: id }], 0)
    }
    expect(await store.counts()).toEqual({ unsettled: 0, deadLetters: 3 })
    const first = await store.deadLetters({ after: undefined, limit: 2 })
    expect(first.items.map(({ id, error, attempts }) => [id, error, attempts])).toEqual([
      ['c', 'c', 1],
      ['d', 'd', 1],
    ])
    // An event that disappears between two pages shifts nothing.
    await store.resolve('c', 'replay', 0)
    const second = await store.deadLetters({ after: first.next, limit: 2 })
    expect(second.items.map(({ id }) => id)).toEqual(['e'])
    expect(second.next).toBeUndefined()
  })
})

test('pages of events go beyond the records that settled last', async () => {
  const store = await memoryStore({ maxDeadLetters: 60 }).open({ onWork() {} })
  await checkDeepListing(store, 3_000)
})
