/** The store is unavailable, or refuses an event: nothing that was answered 204 is lost, and nothing overtakes. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  memoryStore,
  type Receiver,
  ERRORS,
  MessagingWebhooksError,
  OptionsError,
  RefusedError,
} from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { post, receiving } from '../support/receiving.ts'
import { ownFolder } from '../support/own-folder.ts'
import { storeAround } from '../support/store-around.ts'

const NOW = Math.floor(Date.now() / 1_000)

/** Nothing can be created in this folder any more. */
function putFileAt(folder: string): void {
  rmSync(folder, { recursive: true })
  writeFileSync(folder, '')
}

/** What handlers received, as `message status`. */
function dispatchedTo(receiver: Receiver): string[] {
  const seen: string[] = []
  receiver.on('message.*', ({ messageId, status }) => void seen.push(`${messageId} ${status}`))
  receiver.on('late', ({ report: late }) => void seen.push(`${late.messageId} late`))
  return seen
}

const chatApp = (messageId: string, status: string) =>
  callback.chatApp({ statuses: { message_id: messageId, status, conversation_id: 'c' } })

test('events that waited behind a failed batch go into the spool after it', async () => {
  const store = faultyStore(memoryStore())
  const { receiver, url, errors } = await receiving({ store, spool: ownFolder(), storeTimeoutMs: 300 })
  const seen = dispatchedTo(receiver)
  await receiver.start()
  store.fault = 'hangs'
  const answers = [post(url, chatApp('m', 'sent'), { timestamp: NOW })]
  // The batch hangs in the store while the others arrive.
  for (const status of ['delivered', 'read']) answers.push(post(url, chatApp('m', status), { timestamp: NOW }))
  answers.push(...Array.from({ length: 20 }, (_, at) => post(url, chatApp(`other ${at}`, 'sent'), { timestamp: NOW })))
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([204]))
  expect(seen).toEqual([])
  store.fault = 'none'
  // Spooled events are not settled.
  expect(await receiver.drain({ deadlineMs: 15_000 })).toBe(true)
  expect(seen.filter((line) => line.startsWith('m '))).toEqual(['m sent', 'm delivered', 'm read'])
  expect(seen).toHaveLength(23)
  expect(errors.filter(({ code }) => code === 'store_outage')).toHaveLength(1)
})

test.each([true, false])(
  'an event that the store refuses affects no other and is kept raw (spool: %s)',
  async (spooled) => {
    const store = faultyStore(memoryStore())
    store.refuses = ({ record }) => record.report?.messageId === 'poison'
    const { receiver, url } = await receiving({ store, ...(spooled ? { spool: ownFolder() } : {}) })
    const seen = dispatchedTo(receiver)
    const unrecognized: string[] = []
    receiver.on('unrecognized', ({ problem, raw }) => void unrecognized.push(`${problem} ${raw.includes('poison')}`))
    const bodies = ['a', 'b', 'poison', 'c', 'd'].map((messageId) =>
      callback.smsDelivery({ messageId, timestamp: NOW }),
    )
    const answers = await Promise.all(bodies.map((body) => post(url, body)))
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204])
    await expect
      .poll(() => seen.toSorted(), { timeout: 30_000 })
      .toEqual(['a', 'b', 'c', 'd'].map((id) => `${id} success`))
    await expect.poll(() => unrecognized, { timeout: 30_000 }).toEqual(['store_refused true'])
  },
)

test.each([true, false])(
  'spools an event that the store refuses in every form, or answers 503 (spool: %s)',
  async (spooled) => {
    const folder = ownFolder()
    const store = faultyStore(sqliteStore(join(folder, 'inbox.db')))
    store.refuses = ({ raw }) => raw.includes('poison')
    const first = await receiving({ store, ...(spooled ? {} : { spool: false }) })
    const seen = dispatchedTo(first.receiver)
    await first.receiver.start()
    const bodies = ['a', 'poison', 'b'].map((messageId) => callback.smsDelivery({ messageId, timestamp: NOW }))
    const answers = await Promise.all(bodies.map((body) => post(first.url, body)))
    expect(answers.map(({ status }) => status)).toEqual([204, spooled ? 204 : 503, 204])
    await expect.poll(() => seen.toSorted(), { timeout: 30_000 }).toEqual(['a success', 'b success'])
    if (!spooled) return
    // A single refusal could be the store's own failure, so the event waits for others.
    await post(first.url, callback.smsDelivery({ messageId: 'c', timestamp: NOW }))
    await expect.poll(() => first.errors.map(({ code }) => code), { timeout: 30_000 }).toContain('event_refused')
    const listed = await first.receiver.deadLetters.refused()
    expect(listed).toMatchObject([
      { event: { messageId: 'poison' }, error: expect.stringContaining('Bad data') as string },
    ])
    expect((await first.receiver.health()).reasons.map(({ code }) => code)).toContain('event_refused')
    first.server.close()
    first.server.closeAllConnections()
    await first.receiver.close({ deadlineMs: 50 })
    store.refuses = () => false
    const second = await receiving({ store })
    const later = dispatchedTo(second.receiver)
    await second.receiver.start()
    await expect.poll(() => later, { timeout: 30_000 }).toContain('poison success')
    expect(await second.receiver.deadLetters.refused()).toEqual([])
    expect((await second.receiver.health()).reasons).toEqual([])
    // Once for the refusal, although a probe and a second callback followed.
    expect(first.errors.filter(({ code }) => code === 'event_refused')).toHaveLength(1)
  },
)

test('answers a callback with 503 only if the spool fails too', async () => {
  const store = faultyStore(memoryStore())
  const folder = ownFolder()
  const { receiver, url, errors } = await receiving({ store, spool: folder })
  await receiver.start()
  store.fault = 'throws'
  putFileAt(folder)
  expect(await post(url, callback.smsDelivery())).toMatchObject({ status: 503 })
  expect(errors.map(({ code }) => code)).toContain('spool_failed')
})

test('answers 204 when the spool opens later than a response waits for the store', async () => {
  const spool = ownFolder()
  await (await receiving({ store: memoryStore(), spool })).receiver.close()
  // Another process writes for long.
  const other = new DatabaseSync(join(spool, 'local.db'))
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const { receiver, url } = await receiving({ store: memoryStore(), spool, storeTimeoutMs: 50 })
  const seen = dispatchedTo(receiver)
  const answer = post(url, callback.smsDelivery({ messageId: 'm', timestamp: NOW }))
  const waits = new Promise((resolve) => setTimeout(resolve, 300, 'waits'))
  expect(await Promise.race([answer, waits])).toBe('waits')
  other.close()
  expect((await answer).status).toBe(204)
  await expect.poll(() => seen, { timeout: 30_000 }).toEqual(['m success'])
})

test('closes the store again if the spool cannot be used, and opens it once', async () => {
  let opened = 0
  let closed = 0
  const store = storeAround(memoryStore(), {}, (open) => {
    opened += 1
    return {
      async close() {
        closed += 1
        await open.close()
      },
    }
  })
  const folder = ownFolder()
  putFileAt(folder)
  const { receiver, url } = await receiving({ store, spool: folder })
  await expect(receiver.start()).rejects.toMatchObject({ code: 'spool_unusable' })
  await expect.poll(() => closed, { timeout: 30_000 }).toBe(1)
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  expect(opened).toBe(1)
  rmSync(folder)
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  expect(opened).toBe(2)
})

test('an outage lasts as long as the store does not answer, also without an event in the spool', async () => {
  let isHere = true
  // As a store behind a network: with no commands, it has nothing to ask for.
  const store = storeAround(memoryStore(), {
    run(commands, go) {
      if (!isHere && commands.length > 0) throw new Error('The store is unavailable.')
      return go()
    },
  })
  const folder = ownFolder()
  const clock = fakeClock()
  const { receiver, url, errors } = await receiving({ store, clock, spool: folder })
  await receiver.start()
  isHere = false
  putFileAt(folder)
  for (let count = 0; count < 3; count += 1) {
    expect(await post(url, callback.smsDelivery())).toMatchObject({ status: 503 })
    await clock.advance(10_000)
  }
  expect(errors.filter(({ code }) => code === 'store_outage')).toHaveLength(1)
  isHere = true
  await clock.advance(10_000)
  expect(await post(url, callback.smsDelivery())).toMatchObject({ status: 204 })
})

test.each([
  ['an error of its options', new OptionsError('partitions is 3; it was 16.'), 'store_failed'],
  ['an error that is about handlers', new MessagingWebhooksError('dead_letter'), 'store_failed'],
  ['any other error', new Error('The store is unavailable.'), 'store_failed'],
  ['a missing package', new MessagingWebhooksError('peer_missing', 'pg'), 'peer_missing'],
  ['an error of a store', new MessagingWebhooksError('store_newer'), 'store_newer'],
] as const)('%s', async (_, thrown, code) => {
  const store = { ...memoryStore(), open: () => Promise.reject(thrown) }
  const { url, errors } = await receiving({ store }, { kind: 'status' })
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  const refusals = errors.filter((error) => error instanceof RefusedError)
  expect(refusals).toMatchObject([{ code, status: 503 }])
  expect(refusals[0]?.message).toContain(ERRORS[code][0])
  if (code === 'store_failed') expect(refusals[0]?.cause).toBe(thrown)
})
