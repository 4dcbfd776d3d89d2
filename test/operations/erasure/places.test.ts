/** Erasure removes a person from the store's file and its log, the spool, the quarantine, and memory. */
import { join } from 'node:path'
import type { WebhookEvent } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { faultyStore } from '../../support/faulty-store.ts'
import { post, receiving, type SomeOptions } from '../../support/receiving.ts'
import { occurrencesIn, ownFile, ownFolder } from '../../support/own-folder.ts'
import { gate } from '../../support/gate.ts'

const PERSON = '254700123456'
const OTHER = '254711999888'

function chat(messageId: string, recipient: string, fields: object = {}): object {
  return callback.chatApp({ statuses: { message_id: messageId, recipient, ...fields } })
}

async function service(options: SomeOptions) {
  const running = await receiving(options, { kind: 'status' })
  const seen: WebhookEvent[] = []
  running.receiver.onAny((event) => void seen.push(event))
  await running.receiver.start()
  return { ...running, seen }
}

test('removes a person from an SQLite file and its log, and keeps all others', async () => {
  const folder = ownFolder()
  const path = join(folder, 'inbox.db')
  const { receiver, url } = await service({ store: sqliteStore(path), retry: { attempts: 1 } })
  receiver.on('message.failed', ({ recipient }) => {
    throw new Error(`no such number: ${recipient}`)
  })
  for (let at = 0; at < 120; at += 1) {
    const recipient = at % 4 === 0 ? PERSON : OTHER
    // Some messages have several reports, so that rows grow and move.
    await post(url, chat(`m${at}`, recipient, { status: 'sent', pad: 'x'.repeat((at * 37) % 900) }))
    if (at % 3 === 0) await post(url, chat(`m${at}`, recipient, { status: at % 2 === 0 ? 'failed' : 'delivered' }))
  }
  await receiver.drain()
  expect(occurrencesIn(folder, PERSON)).toBeGreaterThan(0)
  const { deadLetters } = await receiver.stats()
  expect(deadLetters).toBeGreaterThan(0)

  const expected = await receiver.forget({ recipient: `+${PERSON}` }, { dryRun: true })
  const { tookMs: _, dryRun, ...forgotten } = await receiver.forget({ recipient: '+254 700 123-456' })
  expect(dryRun).toBe(false)
  expect(expected).toMatchObject({ ...forgotten, examined: expected.examined, dryRun: true })
  expect(forgotten).toMatchObject({ events: 40, messageStates: 30, unsettled: 0, spooled: 0, quarantined: 0 })
  expect(forgotten.deadLetters).toBe(10)

  expect(occurrencesIn(folder, PERSON)).toBe(0)
  expect(occurrencesIn(folder, OTHER)).toBeGreaterThan(0)
  expect(await receiver.messageState('m0')).toBeUndefined()
  expect(await receiver.messageState('m1')).toMatchObject({ recipient: OTHER })
})

test('a running handler keeps its event, its settlement is not an error, and the events behind it do not start', async () => {
  const store = sqliteStore(ownFile())
  const { receiver, url, seen, errors } = await service({ store, concurrency: 1 })
  const { open: release, opened: held } = gate()
  receiver.on('message.sent', () => held)
  await post(url, chat('running', PERSON, { status: 'sent' }))
  await expect.poll(() => seen.length).toBe(1)
  await post(url, chat('waiting', PERSON, { status: 'sent' }))
  await post(url, chat('running', PERSON, { status: 'delivered' }))
  await post(url, chat('other', OTHER, { status: 'sent' }))
  expect(await receiver.forget({ recipient: PERSON })).toMatchObject({ events: 3, unsettled: 3 })
  release()
  expect(await receiver.drain()).toBe(true)
  expect(seen.map((event) => 'messageId' in event && event.messageId)).toEqual(['running', 'other'])
  expect(errors).toEqual([])
  expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
})

test('another process learns that its handler’s event was erased, and the outcome is not kept', async () => {
  const path = ownFile()
  const running = await service({ store: sqliteStore(path), retry: { attempts: 1 } })
  const { receiver } = await service({ store: sqliteStore(path) })
  const { open: release, opened: held } = gate()
  running.receiver.on('message.failed', async (event) => {
    await held
    throw new Error(`no such number: ${event.recipient}`)
  })
  await post(running.url, chat('m', PERSON, { status: 'failed' }))
  await expect.poll(() => running.seen.length).toBe(1)
  expect(await receiver.forget({ messageId: 'm' })).toMatchObject({ events: 1, unsettled: 1 })
  release()
  await expect.poll(() => running.errors.map(({ code }) => code)).toContain('lease_lost')
  expect(await receiver.drain()).toBe(true)
  expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
  expect(running.seen).toHaveLength(1)
})

test('erases the spool in any state of the store; its idempotency keys reach the store', async () => {
  const folder = ownFolder()
  const store = faultyStore(sqliteStore(join(folder, 'inbox.db')))
  const spool = join(folder, 'spool')
  const { receiver, url, seen } = await service({ store, spool, storeTimeoutMs: 60_000 })
  store.fault = 'throws'
  const mine = chat('mine', PERSON, { status: 'sent' })
  for (const at of Array(5).keys()) await post(url, chat(`other${at}`, OTHER, { status: 'sent' }))
  expect((await post(url, mine)).status).toBe(204)
  await post(url, chat('after', OTHER, { status: 'sent' }))
  expect(occurrencesIn(spool, PERSON)).toBeGreaterThan(0)

  await expect(receiver.forget({ recipient: PERSON })).rejects.toThrow()
  expect(occurrencesIn(spool, PERSON)).toBe(0)
  expect(occurrencesIn(spool, OTHER)).toBeGreaterThan(0)
  store.fault = 'none'
  await expect.poll(async () => (await receiver.stats()).spooled).toBe(0)
  await receiver.drain()
  expect(seen.map((event) => 'messageId' in event && event.messageId).sort()).toEqual(
    ['after', ...Array.from(Array(5).keys(), (at) => `other${at}`)].sort(),
  )
  await post(url, mine)
  await receiver.drain()
  expect(seen).toHaveLength(6)
  expect(occurrencesIn(folder, PERSON)).toBe(0)
})

test('counts the spool, and erases it once', async () => {
  const folder = ownFolder()
  const store = faultyStore(sqliteStore(join(folder, 'inbox.db')))
  store.refuses = ({ raw }) => raw.includes(PERSON)
  const { receiver, url, seen } = await service({ store, spool: join(folder, 'spool') })
  await post(url, chat('mine', PERSON))
  await post(url, chat('other', OTHER))
  await expect.poll(() => seen.length).toBe(1)
  // Callbacks that the store refuses go to a separate spool.
  await expect.poll(async () => (await receiver.stats()).spooled).toBe(0)
  expect(occurrencesIn(folder, PERSON)).toBeGreaterThan(0)
  const counted = { spooled: 1, events: 0, quarantined: 0 }
  expect(await receiver.forget({ recipient: PERSON }, { dryRun: true })).toMatchObject({ ...counted, dryRun: true })
  expect(await receiver.forget({ recipient: PERSON })).toMatchObject(counted)
  expect(await receiver.forget({ recipient: PERSON })).toMatchObject({ ...counted, spooled: 0 })
  expect(occurrencesIn(folder, PERSON)).toBe(0)
})

test.each([
  ['its recipient', { recipient: PERSON }],
  ['its message id', { messageId: 'mine' }],
])('erases the quarantine, in memory and on disk, by %s', async (_, selector) => {
  const folder = ownFolder()
  const path = join(folder, 'inbox.db')
  const { receiver, url } = await service({ store: sqliteStore(path) })
  const wrong = (body: object): Promise<number> =>
    fetch(url, { method: 'POST', body: JSON.stringify({ ...body, authKey: 'of no one' }) }).then(({ status }) => status)
  expect(await wrong(chat('mine', PERSON))).toBe(401)
  expect(await wrong(chat('other', OTHER))).toBe(401)
  await expect.poll(() => occurrencesIn(folder, PERSON)).toBeGreaterThan(0)
  await expect.poll(() => occurrencesIn(folder, OTHER)).toBeGreaterThan(0)
  expect(await receiver.forget(selector, { dryRun: true })).toMatchObject({ quarantined: 1 })
  expect(receiver.quarantine.size).toBe(2)
  expect(await receiver.forget(selector)).toMatchObject({ quarantined: 1, events: 0 })
  expect(receiver.quarantine.size).toBe(1)
  expect(occurrencesIn(folder, PERSON)).toBe(0)
  expect(occurrencesIn(folder, OTHER)).toBeGreaterThan(0)
})
