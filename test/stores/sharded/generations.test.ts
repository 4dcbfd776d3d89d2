/** A shard is added, or taken away, while messages are on their way: what is known stays where it is, with all that comes of it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type Receiver, type Store } from 'messaging-webhooks'
import { shardedStore, type ShardedStoreOptions } from 'messaging-webhooks/sharded'
import type { OpenStore } from 'messaging-webhooks/store'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { messageKey } from '../../../src/inbox/identity.ts'
import { ownerAmong } from '../../../src/stores/sharded/rendezvous.ts'
import { faultyStore } from '../../support/faulty-store.ts'
import { post, receiving } from '../../support/receiving.ts'

const NOW = Math.floor(Date.now() / 1_000)
const IDS = Array.from({ length: 40 }, (_, index) => `m${index}`)
const ADDED: ShardedStoreOptions = {
  generations: [
    ['a', 'b', 'c'],
    ['a', 'b'],
  ],
}
/** The messages that would belong to the new one. */
const MOVED = IDS.filter((id) => ownerAmong(['a', 'b', 'c'])(messageKey(undefined, id)) === 'c')

/** A store that outlives its receivers, and what is in it. */
async function lasting() {
  const { capabilities, open } = memoryStore()
  const inside: OpenStore = await open({ onWork() {} })
  const store: Store = { capabilities: { ...capabilities, durable: true }, open: () => ({ ...inside, close() {} }) }
  return { store, inside }
}

async function threeShards() {
  const [a, b, c] = await Promise.all([lasting(), lasting(), lasting()])
  return { a, b, c, stores: { a: a.store, b: b.store, c: c.store } }
}

const sms = (messageId: string, timestamp: number) => callback.smsDelivery({ messageId, timestamp })

/** Neither delivered nor failed, so it is late where one of them was handed over. */
const queued = (messageId: string) =>
  callback.smsDelivery({ messageId, timestamp: NOW - 10, status: 'MESSAGE_QUEUED', statusCode: 11 })

async function knows({ inside }: { readonly inside: OpenStore }, id: string): Promise<boolean> {
  return (await inside.latest(messageKey(undefined, id))) !== undefined
}

function handedOver(receiver: Receiver): string[] {
  const seen: string[] = []
  receiver.on('message.*', ({ messageId, timestamp = 0 }) => void seen.push(`${messageId} ${timestamp - NOW}`))
  receiver.on('late', ({ messageId }) => void seen.push(`${messageId} late`))
  return seen
}

test('what is settled stays known: repetitions are duplicates, an older report is late, and only new messages move', async () => {
  const { a, b, c, stores } = await threeShards()
  const before = await receiving({ store: shardedStore({ a: a.store, b: b.store }), spool: false })
  const first = handedOver(before.receiver)
  for (const id of IDS) await post(before.url, sms(id, NOW))
  expect(await before.receiver.drain()).toBe(true)
  expect(first).toHaveLength(IDS.length)
  await before.receiver.close()

  const { receiver, url, errors } = await receiving({ store: shardedStore(stores, ADDED), spool: false })
  const seen = handedOver(receiver)
  await receiver.start()
  expect(MOVED.length).toBeGreaterThan(5)
  for (const id of IDS) await post(url, sms(id, NOW))
  expect(await receiver.drain()).toBe(true)
  expect(seen).toEqual([])
  expect(await receiver.messageState(MOVED[0] ?? '')).toMatchObject({ type: 'message.delivered' })
  for (const id of MOVED) await post(url, queued(id))
  const newOnes = IDS.map((id) => `new-${id}`)
  for (const id of newOnes) await post(url, sms(id, NOW))
  expect(await receiver.drain()).toBe(true)
  expect(seen.toSorted()).toEqual([...MOVED.map((id) => `${id} late`), ...newOnes.map((id) => `${id} 0`)].toSorted())
  for (const id of IDS) expect(await knows(c, id)).toBe(false)
  const inC = await Promise.all(newOnes.map((id) => knows(c, id)))
  expect(inC.filter(Boolean).length).toBeGreaterThan(5)
  expect(errors).toEqual([])
})

test('what is unsettled stays in its order, before what comes of it later', async () => {
  const { a, b, c, stores } = await threeShards()
  const before = await receiving({
    store: shardedStore({ a: a.store, b: b.store }),
    spool: false,
    retry: { attempts: 10, initialDelayMs: 500, maxDelayMs: 500 },
  })
  let failed = 0
  before.receiver.onAny(() => {
    failed += 1
    throw new Error('not yet')
  })
  for (const id of MOVED) await post(before.url, sms(id, NOW))
  await expect.poll(() => failed).toBeGreaterThanOrEqual(MOVED.length)
  await before.receiver.close()

  const { receiver, url } = await receiving({ store: shardedStore(stores, ADDED), spool: false })
  const seen = handedOver(receiver)
  for (const id of MOVED) await post(url, sms(id, NOW + 1))
  await expect.poll(() => seen.length).toBe(2 * MOVED.length)
  for (const id of MOVED) expect(seen.filter((each) => each.startsWith(`${id} `))).toEqual([`${id} 0`, `${id} 1`])
  expect(await c.inside.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  for (const id of MOVED) expect(await knows(c, id)).toBe(false)
})

test('one that still goes by the old list and one by the new agree about what either has taken', async () => {
  const { stores } = await threeShards()
  const [newest = [], oldest = []] = ADDED.generations ?? []
  const one = await receiving({ store: shardedStore(stores, { generations: [oldest, newest] }), spool: false })
  const other = await receiving({ store: shardedStore(stores, ADDED), spool: false })
  const seen = [handedOver(one.receiver), handedOver(other.receiver)]
  for (const [index, id] of IDS.entries()) {
    const urls = index % 2 === 0 ? [one.url, other.url] : [other.url, one.url]
    for (const url of urls) expect((await post(url, sms(id, NOW))).status).toBe(204)
  }
  expect(await one.receiver.drain()).toBe(true)
  expect(seen.flat().toSorted()).toEqual(IDS.map((id) => `${id} 0`).toSorted())
})

test('one is taken away: what it has is handed over and known, and it gets nothing new', async () => {
  const { stores, c } = await threeShards()
  const before = await receiving({ store: shardedStore(stores), spool: false })
  handedOver(before.receiver)
  for (const id of MOVED) await post(before.url, sms(id, NOW))
  expect(await before.receiver.drain()).toBe(true)
  await before.receiver.close()
  for (const id of MOVED) expect(await knows(c, id)).toBe(true)

  const generations = [
    ['a', 'b'],
    ['a', 'b', 'c'],
  ]
  const { receiver, url } = await receiving({ store: shardedStore(stores, { generations }), spool: false })
  const seen = handedOver(receiver)
  const newOnes = IDS.map((id) => `new-${id}`)
  for (const id of [...MOVED, ...newOnes]) await post(url, sms(id, NOW))
  expect(await receiver.drain()).toBe(true)
  expect(seen.toSorted()).toEqual(newOnes.map((id) => `${id} 0`).toSorted())
  for (const id of newOnes) expect(await knows(c, id)).toBe(false)
})

test('while the old owner cannot be asked, what may stand there waits in its spool, and nothing else does', async () => {
  const { a, b, c } = await threeShards()
  const old = { a: faultyStore(a.store), b: faultyStore(b.store) }
  const spool = mkdtempSync(join(tmpdir(), 'generations-'))
  onTestFinished(() => rmSync(spool, { recursive: true, force: true }))
  const { receiver, url } = await receiving({
    store: shardedStore({ ...old, c: c.store }, ADDED),
    spool,
    storeTimeoutMs: 300,
  })
  const seen = handedOver(receiver)
  await receiver.start()
  old.a.fault = 'throws'
  const isOfA = (id: string) => ownerAmong(['a', 'b'])(messageKey(undefined, id)) === 'a'
  for (const id of IDS) expect((await post(url, sms(id, NOW))).status).toBe(204)
  await expect
    .poll(() => seen.toSorted())
    .toEqual(
      IDS.filter((id) => !isOfA(id))
        .map((id) => `${id} 0`)
        .toSorted(),
    )
  old.a.fault = 'none'
  await expect.poll(() => seen.toSorted()).toEqual(IDS.map((id) => `${id} 0`).toSorted())
})
