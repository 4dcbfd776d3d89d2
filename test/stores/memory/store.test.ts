import { memoryStore, type MemoryStoreOptions } from 'messaging-webhooks'
import type { Claim, NewEvent, Settlement } from 'messaging-webhooks/store'
import { describe, expect, test } from 'vitest'

const NOBODY: ReadonlySet<string> = new Set()
const DAY_MS = 86_400_000

async function openStore(options: MemoryStoreOptions = {}) {
  const store = await memoryStore(options).open({ onWork: () => {} })
  return {
    ...store,
    claimAt: async (nowMs: number, { limit = 10, leaseMs = 1_000, exclude = NOBODY } = {}) =>
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
const idsOf = (claims: readonly Claim[]): readonly string[] => claims.map(({ id }) => id)

describe('leases', () => {
  test('an event that nobody settled is claimed again when its lease has run out, as the next attempt', async () => {
    const store = await openStore()
    await store.admit([event('one')], 0)
    expect((await store.claimAt(0)).claims).toMatchObject([{ id: 'one', attempt: 1 }])
    expect(await store.claimAt(999)).toEqual({ claims: [], nextDueMs: 1_000 })
    expect((await store.claimAt(1_000)).claims).toMatchObject([{ id: 'one', attempt: 2 }])
  })

  test('who lost a lease cannot settle, and changes nothing', async () => {
    const store = await openStore()
    await store.admit([event('one')], 0)
    const [first] = (await store.claimAt(0)).claims
    const [second] = (await store.claimAt(1_000)).claims
    if (first === undefined || second === undefined) throw new Error('nothing was claimed')
    expect(second.token).toBeGreaterThan(first.token)
    for (const outcome of [
      { outcome: 'done' },
      { outcome: 'retry', dueMs: 0, error: '' },
      { outcome: 'dead', error: '' },
    ] as const)
      expect(await store.settle([{ ...done(first), ...outcome }], 1_001)).toEqual([false])
    expect(await store.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
    expect(await store.settle([done(second)], 1_002)).toEqual([true])
    expect(await store.settle([done(second)], 1_003)).toEqual([false])
    expect(await store.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })

  test('who was late, but whose event nobody took, can settle', async () => {
    const store = await openStore()
    await store.admit([event('one')], 0)
    const [claim] = (await store.claimAt(0)).claims
    if (claim === undefined) throw new Error('nothing was claimed')
    expect(await store.settle([done(claim)], 5_000)).toEqual([true])
    expect((await store.claimAt(6_000)).claims).toEqual([])
  })

  test('a late settlement leaves the lease of another event of its message alone', async () => {
    const store = await openStore()
    await store.admit([event('later', { messageKey: 'm', order: '2' })], 0)
    const [held] = (await store.claimAt(0)).claims
    if (held === undefined) throw new Error('nothing was claimed')
    await store.admit([event('earlier', { messageKey: 'm', order: '1' })], 1_000)
    expect(idsOf((await store.claimAt(1_000)).claims)).toEqual(['earlier'])
    expect(await store.settle([{ ...done(held), outcome: 'retry', dueMs: 1_001, error: '' }], 1_001)).toEqual([true])
    expect((await store.claimAt(1_500)).claims).toEqual([])
  })
})

describe('what is claimed', () => {
  test('at most `limit`, each of another message, the longest due first', async () => {
    const store = await openStore()
    await store.admit(
      [event('a'), event('b1', { messageKey: 'b', order: '1' }), event('b2', { messageKey: 'b', order: '2' })],
      0,
    )
    await store.admit([event('c'), event('d')], 5)
    expect(idsOf((await store.claimAt(10, { limit: 3 })).claims)).toEqual(['a', 'b1', 'c'])
    expect(idsOf((await store.claimAt(10)).claims)).toEqual(['d'])
  })

  test('nothing before it is due, and it says when something will be', async () => {
    const store = await openStore()
    await store.admit([event('gap', { step: 2, awaits: 1, gapUntilMs: 500, order: '2' })], 0)
    expect(await store.claimAt(0)).toEqual({ claims: [], nextDueMs: 500 })
    expect(idsOf((await store.claimAt(500)).claims)).toEqual(['gap'])
  })

  test('nothing of an excluded message, which stays due, and whose lease wakes nobody', async () => {
    const store = await openStore()
    await store.admit([event('hung'), event('other')], 0)
    const exclude = new Set(['hung'])
    expect(idsOf((await store.claimAt(0, { exclude })).claims)).toEqual(['other'])
    expect(idsOf((await store.claimAt(0)).claims)).toEqual(['hung'])
    expect(await store.claimAt(1, { exclude })).toEqual({ claims: [], nextDueMs: 1_000 })
    await store.claimAt(2_000, { exclude: new Set(['hung', 'other']) })
    expect(idsOf((await store.claimAt(2_000)).claims).toSorted()).toEqual(['hung', 'other'])
  })
})

test('what is overdue is found again and again until somebody decides, with the time of the next', async () => {
  const store = await openStore()
  const messages = Array.from({ length: 1_000 }, (_, nth) => {
    return { messageKey: `m${nth}`, sentAtMs: 0, overdueAtMs: 1_000 + nth, expectation: { sentAtMs: 0 } }
  })
  await store.expect?.(messages.toReversed(), 0)
  for (let nowMs = 1_000; nowMs < 1_200; nowMs += 1) {
    const found = await store.overdue?.({ nowMs, limit: 10 })
    expect(found?.items[0]?.messageKey).toBe('m0')
    expect(found?.nextMs).toBe(nowMs < 1_010 ? nowMs + 1 : nowMs)
  }
})

test('what was sent stands in the order of its sends, whatever was told first, and what is forgotten is not there', async () => {
  const store = await openStore()
  const keys = Array.from({ length: 3_000 }, (_, nth) => `m${(nth * 7_919) % 3_000}`)
  const sentAtMs = (messageKey: string): number => Math.floor(Number(messageKey.slice(1)) / 3)
  for (const messageKey of keys)
    await store.expect?.(
      [{ messageKey, sentAtMs: sentAtMs(messageKey), overdueAtMs: 9_000, expectation: { sentAtMs: 0 } }],
      0,
    )
  const gone = new Set(keys.slice(0, 2_000))
  const targets = [...gone].map((messageKey) => ({ messageKey }))
  await store.forget?.({ targets, dryRun: false }, 0)
  const walked: string[] = []
  let after: string | undefined
  do {
    const page = await store.expectations?.({ after, limit: 7, fromMs: 10, toMs: 900 })
    walked.push(...(page?.items ?? []).map(({ messageKey }) => messageKey))
    after = page?.next
  } while (after !== undefined)
  const meant = keys.filter((key) => !gone.has(key) && sentAtMs(key) >= 10 && sentAtMs(key) < 900)
  expect(walked).toEqual(meant.toSorted((a, b) => sentAtMs(a) - sentAtMs(b) || (a < b ? -1 : 1)))
})

describe('bounds', () => {
  test('when it is full of unsettled events it takes no more, duplicates aside, until one is settled', async () => {
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

  test('bytes count, too', async () => {
    const store = await openStore({ maxBytes: 25 })
    expect(await store.admit([event('a'), event('b'), event('c')], 0)).toEqual(['new', 'new', 'full'])
    expect(await store.admit([event('d', { raw: Buffer.alloc(5) })], 0)).toEqual(['new'])
  })

  test('only settled events are forgotten, the oldest first', async () => {
    const store = await openStore({ maxEvents: 3 })
    for (const id of ['a', 'b', 'c', 'd']) {
      await store.admit([event(id)], 0)
      const [claim] = (await store.claimAt(0)).claims
      if (claim !== undefined) await store.settle([done(claim)], 0)
    }
    // Of four settled ones the first is forgotten; a new one is.
    expect(await store.admit([event('d'), event('c'), event('b'), event('a')], 0)).toEqual([
      'duplicate',
      'duplicate',
      'duplicate',
      'new',
    ])
    expect(await store.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
  })

  test('what is used is forgotten later: a duplicate, a further event, or a look at the latest state', async () => {
    const store = await openStore({ maxEvents: 4 })
    const settle = async (id: string, messageKey = id) => {
      await store.admit([event(id, { messageKey, order: id })], 0)
      await store.settle((await store.claimAt(0)).claims.map(done), 0)
    }
    for (const id of ['a', 'b', 'c', 'd']) await settle(id)
    await store.admit([event('a')], 0)
    await store.latest('b')
    await settle('e')
    await settle('b2', 'b')
    const admitted = ['a', 'b', 'e'].map((id) => event(id, { order: id }))
    expect(await store.admit(admitted, 0)).toEqual(['duplicate', 'duplicate', 'duplicate'])
    const remembered: string[] = []
    for (const id of ['a', 'b', 'c', 'd', 'e']) if ((await store.latest(id)) !== undefined) remembered.push(id)
    expect(remembered).toEqual(['a', 'b', 'e'])
  })

  test('a settled event is known for dedupeDays and forgotten by then, also by prune, which says so', async () => {
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

  test('dead letters are bounded, the oldest goes first, and pages go on where one ended', async () => {
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
    // One that goes between two pages moves nothing.
    await store.resolve('c', 'replay', 0)
    const second = await store.deadLetters({ after: first.next, limit: 2 })
    expect(second.items.map(({ id }) => id)).toEqual(['e'])
    expect(second.next).toBeUndefined()
  })

  test('a replay counts as unsettled again', async () => {
    const store = await openStore()
    await store.admit([event('a')], 0)
    const [claim] = (await store.claimAt(0)).claims
    if (claim !== undefined) await store.settle([{ ...done(claim), outcome: 'dead', error: '' }], 0)
    expect(await store.counts()).toEqual({ unsettled: 0, deadLetters: 1 })
    expect(await store.resolve('a', 'replay', 5)).toBe(true)
    expect(await store.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
    expect((await store.claimAt(5)).claims).toMatchObject([{ id: 'a', attempt: 1, replay: true, late: false }])
    expect(await store.admit([event('a')], 5)).toEqual(['duplicate'])
  })
})

test('what it says of itself is true', () => {
  expect(memoryStore().capabilities).toEqual({
    name: 'memory',
    admitsAndClaims: true,
    durable: false,
    shared: false,
    listsEvents: true,
    forgets: true,
    expects: true,
  })
})
