/** A corrupt local file: it is kept under another name, reported once, and what can be read of it is dispatched. */
import { closeSync, fstatSync, openSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore, type Receiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { faultyStore } from '../support/faulty-store.ts'
import { ownFolder } from '../support/own-folder.ts'
import { post, receiving } from '../support/receiving.ts'

const NAME = 'local.db'
const PAGE_BYTES = 4096
const EVENTS = 60
/** So that a page has few events. */
const PAGE_FEW = 1_000
/** So that SQLite moves events from its log into the file, and not all of them fit into its cache. */
const LARGE = 150_000

const idOf = (nth: number): string => `m${nth}`

function deliveredTo(receiver: Receiver): readonly string[] {
  const seen: string[] = []
  receiver.on('message.delivered', ({ messageId }) => void seen.push(messageId))
  return seen
}

async function send(url: string, messageId: string, length = 0): Promise<number> {
  return (await post(url, { ...callback.smsDelivery({ messageId }), padding: 'x'.repeat(length) })).status
}

/** Overwrites the last pages of the first half, which are events. */
function corrupt(path: string): void {
  const file = openSync(path, 'r+')
  const pages = Math.floor(fstatSync(file).size / PAGE_BYTES)
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xff), 0, PAGE_BYTES, Math.floor(pages / 2) * PAGE_BYTES)
  closeSync(file)
}

async function spooled(folder: string, length: number) {
  const store = faultyStore(memoryStore())
  store.fault = 'throws'
  const service = await receiving({ store, spool: folder })
  for (let nth = 0; nth < EVENTS; nth += 1) expect(await send(service.url, idOf(nth), length)).toBe(204)
  return { ...service, store }
}

test('a part that cannot be read at the start loses only itself', async () => {
  const folder = ownFolder()
  const before = await spooled(folder, PAGE_FEW)
  await before.receiver.close({ deadlineMs: 50 })
  corrupt(join(folder, NAME))

  const { receiver, url, errors } = await receiving({ store: memoryStore(), spool: folder })
  const seen = deliveredTo(receiver)
  await receiver.start()
  await expect.poll(() => seen.length, { timeout: 30_000 }).toBeGreaterThan(EVENTS - 8)
  expect(await send(url, 'later')).toBe(204)
  await expect.poll(() => seen, { timeout: 30_000 }).toContain('later')
  // Both ends of the table: it is read from the beginning and from the end.
  expect(seen).toContain('m0')
  expect(seen).toContain(idOf(EVENTS - 1))
  const damaged = errors.filter(({ code }) => code === 'spool_damaged')
  expect(damaged).toHaveLength(1)
  const moved = readdirSync(folder).filter((name) => /^local\.db\.corrupt-\d+$/.test(name))
  expect(moved).toHaveLength(1)
  expect(damaged[0]?.message).toContain(join(folder, moved[0] ?? ''))
})

test('a file that becomes corrupt under a running process takes on what arrives, and the rest moves', async () => {
  const folder = ownFolder()
  const { receiver, url, errors, store } = await spooled(folder, LARGE)
  const seen = deliveredTo(receiver)
  corrupt(join(folder, NAME))
  expect(await send(url, 'during')).toBe(204)
  store.fault = 'none'
  await expect.poll(() => seen, { timeout: 30_000 }).toContain('during')
  await expect.poll(() => seen.length, { timeout: 30_000 }).toBeGreaterThan(EVENTS - 8)
  expect(errors.filter(({ code }) => code === 'spool_damaged')).toHaveLength(1)
})
