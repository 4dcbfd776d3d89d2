/** A receiver whose file somebody else spoils while it runs: one event is set aside, and everything else goes on. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'

const NOW = Math.floor(Date.now() / 1_000)
const POLL = { timeout: 50_000, interval: 50 }

test('of 200 due one row is overwritten: 199 are handled, and 100 that come afterwards; the one is a dead letter', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spoilt-row-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'inbox.db')
  const handled = new Set<string>()
  const { receiver, url, errors } = await receiving({ store: sqliteStore(path), concurrency: 4 })
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  receiver.on('message.delivered', async ({ messageId }) => {
    await gate
    handled.add(messageId)
  })
  await receiver.start()
  const send = async (messageId: string): Promise<void> => {
    const { status } = await post(url, callback.smsDelivery({ messageId, timestamp: NOW }))
    expect(status).toBe(204)
  }
  for (let at = 0; at < 200; at += 1) await send(`m${at}`)
  const db = new DatabaseSync(path)
  onTestFinished(() => db.close())
  db.exec('PRAGMA busy_timeout = 10000')
  const spoilt = db
    .prepare(`UPDATE payloads SET record = CAST('{"secret' AS BLOB) WHERE seq = 77 RETURNING lower(hex(id)) AS id`)
    .get()
  open()
  for (let at = 0; at < 100; at += 1) await send(`n${at}`)
  await expect.poll(() => handled.size, POLL).toBe(299)
  expect(await receiver.drain({ deadlineMs: 20_000 })).toBe(true)
  expect(handled.has('m76')).toBe(false)
  const said = errors.filter(({ code }) => code === 'event_damaged')
  expect(said).toHaveLength(1)
  expect(said[0]?.message).toContain(spoilt?.['id'])
  expect(said[0]?.message).not.toContain('secret')
  const { items } = await receiver.deadLetters.list()
  expect(items).toMatchObject([{ id: spoilt?.['id'], event: { type: 'unrecognized', problem: 'damaged' } }])
  expect(items[0]?.event.raw.toString()).toContain('m76')
})
