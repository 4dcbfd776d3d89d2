/** One of two shards is away: its share waits in its spool, and the other neither waits nor hears of it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type Receiver } from 'messaging-webhooks'
import { shardedStore } from 'messaging-webhooks/sharded'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { messageKey, sendKey } from '../../../src/inbox/identity.ts'
import { ownerAmong } from '../../../src/stores/sharded/rendezvous.ts'
import { faultyStore } from '../../support/faulty-store.ts'
import { post, receiving } from '../../support/receiving.ts'

const NOW = Math.floor(Date.now() / 1_000)
const ownerOf = ownerAmong(['a', 'b'])
const isIn = (shard: string) => (messageId: string) => ownerOf(messageKey(undefined, messageId)) === shard
const IDS = Array.from({ length: 40 }, (_, index) => `m${index}`)

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sharded-away-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function twoShards() {
  const a = faultyStore(memoryStore())
  const b = faultyStore(memoryStore())
  return { a, b, store: shardedStore({ a, b }) }
}

function handedOver(receiver: Receiver): string[] {
  const seen: string[] = []
  receiver.on('message.*', ({ messageId }) => void seen.push(messageId))
  return seen
}

const sms = (messageId: string) => callback.smsDelivery({ messageId, timestamp: NOW })

test.each(['throws', 'hangs'] as const)(
  'while one %s, its share is spooled, the rest is handed over, and all of it in the end',
  async (fault) => {
    const { a, b, store } = twoShards()
    const { receiver, url, errors } = await receiving({ store, spool: freshFolder(), storeTimeoutMs: 300 })
    const seen = handedOver(receiver)
    await receiver.start()
    b.fault = fault
    const answers = await Promise.all(IDS.map((id) => post(url, sms(id))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
    const ofA = IDS.filter(isIn('a'))
    const ofB = IDS.filter(isIn('b'))
    expect(Math.min(ofA.length, ofB.length)).toBeGreaterThan(5)
    await expect.poll(() => seen.toSorted()).toEqual(ofA.toSorted())

    const { shards, store: whole, unsettled, spooled } = await receiver.stats()
    expect([whole, unsettled, spooled]).toEqual(['away', undefined, ofB.length])
    expect(shards).toMatchObject([
      { name: 'a', store: 'up', spooled: 0, unsettled: 0, deadLetters: 0 },
      { name: 'b', store: 'away', spooled: ofB.length, unsettled: undefined },
    ])
    // What is new of the other goes straight into it, and handled at once.
    const later = Array.from({ length: 40 }, (_, index) => `later-${index}`).filter(isIn('a'))
    for (const id of later) expect((await post(url, sms(id))).status).toBe(204)
    await expect.poll(() => seen.length).toBe(ofA.length + later.length)

    b.fault = 'none'
    await expect.poll(() => seen.length).toBe(IDS.length + later.length)
    expect(seen.toSorted()).toEqual([...IDS, ...later].toSorted())
    await expect.poll(async () => (await receiver.stats()).store).toBe('up')
    const outages = errors.filter(({ code }) => code === 'store_outage')
    expect(outages.map(({ detail }) => detail)).toEqual(['It is the shard b.'])
    expect(errors.every(({ detail }) => detail?.includes('the shard b') === true)).toBe(true)
    expect(await a.open({ onWork() {} })).toBeDefined()
  },
)

test('one that cannot be opened keeps nobody from starting, and is opened when it can be', async () => {
  const { b, store } = twoShards()
  b.fault = 'will not open'
  const { receiver, url } = await receiving({ store, spool: freshFolder(), storeTimeoutMs: 300 })
  const seen = handedOver(receiver)
  await receiver.start()
  for (const id of IDS) expect((await post(url, sms(id))).status).toBe(204)
  await expect.poll(() => seen.length).toBe(IDS.filter(isIn('a')).length)
  b.fault = 'none'
  await expect.poll(() => seen.toSorted()).toEqual(IDS.toSorted())
})

test('without a spool only the share of the one that is away is refused', async () => {
  const { b, store } = twoShards()
  const { receiver, url } = await receiving({ store, storeTimeoutMs: 300 })
  const seen = handedOver(receiver)
  await receiver.start()
  b.fault = 'throws'
  for (const id of IDS) expect((await post(url, sms(id))).status).toBe(isIn('a')(id) ? 204 : 503)
  await expect.poll(() => seen.toSorted()).toEqual(IDS.filter(isIn('a')).toSorted())
})

test('what one could not be told of is told later, and what the other has done is not done again', async () => {
  const { b, store } = twoShards()
  const { receiver, url } = await receiving({ store, spool: freshFolder(), storeTimeoutMs: 300 })
  const runs: string[] = []
  receiver.on('message.*', ({ messageId }) => {
    runs.push(messageId)
    // It goes away while its handlers run.
    if (isIn('b')(messageId)) b.fault = 'throws'
  })
  await receiver.start()
  const [ofB = ''] = IDS.filter(isIn('b'))
  await post(url, sms(ofB))
  await expect.poll(() => runs).toEqual([ofB])
  const ofA = IDS.filter(isIn('a'))
  for (const id of ofA) await post(url, sms(id))
  await expect.poll(() => runs.length).toBe(1 + ofA.length)
  await expect.poll(async () => (await receiver.stats()).shards?.[0]?.unsettled).toBe(0)
  b.fault = 'none'
  expect(await receiver.drain()).toBe(true)
  expect(runs).toHaveLength(1 + ofA.length)
})

test('both away: everything is spooled, and comes when they are back', async () => {
  const { a, b, store } = twoShards()
  const { receiver, url } = await receiving({ store, spool: freshFolder(), storeTimeoutMs: 300 })
  const seen = handedOver(receiver)
  await receiver.start()
  a.fault = 'throws'
  b.fault = 'hangs'
  for (const id of IDS) expect((await post(url, sms(id))).status).toBe(204)
  expect(seen).toEqual([])
  a.fault = 'none'
  b.fault = 'none'
  await expect.poll(() => seen.toSorted()).toEqual(IDS.toSorted())
})

test('what a slow shard brings too late for one claim is run after the next, once', async () => {
  const { b, store } = twoShards()
  const { receiver, url } = await receiving({ store, spool: freshFolder(), storeTimeoutMs: 20_000 })
  const seen = handedOver(receiver)
  await receiver.start()
  b.fault = 'is late'
  const answers = IDS.map((id) => post(url, sms(id)))
  await expect.poll(() => seen.toSorted()).toEqual(IDS.filter(isIn('a')).toSorted())
  b.fault = 'none'
  for (const { status } of await Promise.all(answers)) expect(status).toBe(204)
  expect(await receiver.drain()).toBe(true)
  expect(seen.toSorted()).toEqual(IDS.toSorted())
})

test('what is overdue in the one is told while the other is away, though of a send only that could tell', async () => {
  const { b, store } = twoShards()
  const { receiver } = await receiving({ store })
  const seen: string[] = []
  receiver.on('message.overdue', ({ messageId }) => void seen.push(messageId))
  receiver.on('send.unknown', ({ reference }) => void seen.push(reference))
  await receiver.start()
  const inA = IDS.find(isIn('a')) ?? ''
  const reference = IDS.find((id) => ownerOf(sendKey(undefined, id)) === 'a') ?? ''
  await receiver.intend({ reference, answerWithinMs: 1_200 })
  await receiver.expect({ messages: [{ messageId: inA }] }, { within: 1_300 })
  b.fault = 'throws'
  await expect.poll(() => seen, { timeout: 10_000 }).toEqual([inA])
  b.fault = 'none'
  await expect.poll(() => seen, { timeout: 20_000 }).toEqual([inA, reference])
}, 40_000)
