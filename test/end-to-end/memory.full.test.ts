/**
 * The memory of a process does not grow with the number of events. `EVENTS` sets the number (`npm run test:memory`:
 * a million). `synchronous: 'OFF'`, because the disk's speed does not matter here.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { postAll } from '../support/pipelining.ts'
import { AUTH_KEY, megabytes, startInboxApp, type InboxApp, type Memory } from './inbox-app.ts'
import { ownFolder } from '../support/own-folder.ts'

const EVENTS = Number(process.env['EVENTS'] ?? '8000')
const FIRST = EVENTS / (EVENTS >= 100_000 ? 10 : 4)
const CALLBACKS_AT_ONCE = 2_000
/** Maximum growth of the heap: its noise, plus a little per event. */
const NOISE_BYTES = 2e6
const BYTES_AN_EVENT = 20

let sent = 0

/** Each event belongs to its own message and is dispatched before the next ones are sent. */
async function send(app: InboxApp, count: number): Promise<void> {
  for (let left = count; left > 0; left -= CALLBACKS_AT_ONCE) {
    const bodies = Array.from({ length: Math.min(left, CALLBACKS_AT_ONCE) }, () => {
      const report = callback.smsDelivery({ messageId: `m${(sent += 1)}` })
      return [JSON.stringify({ ...report, authKey: AUTH_KEY }), {}] as const
    })
    expect(await postAll(app.url, bodies)).toEqual({ 204: bodies.length })
  }
  expect(await app.ask({ ask: 'drain', deadlineMs: 600_000 })).toBe(true)
}

test(`${EVENTS} events leave the heap where the first ${FIRST} left it`, { timeout: 60_000 + EVENTS * 4 }, async () => {
  const folder = ownFolder()
  const app = await startInboxApp({ folder, synchronous: 'OFF', logs: false })
  await send(app, FIRST)
  const before = await app.ask<Memory>({ ask: 'memory' })
  await send(app, EVENTS - FIRST)
  const after = await app.ask<Memory>({ ask: 'memory' })
  for (const [events, { heap, threadHeap, external, rss }] of [[FIRST, before] as const, [EVENTS, after] as const])
    console.log(
      `after ${events} events: heap ${megabytes(heap)}, store's thread ${megabytes(threadHeap)}, ` +
        `external ${megabytes(external)}, RSS ${megabytes(rss)}`,
    )
  const grown = Math.max(after.heap - before.heap, 0) + Math.max(after.threadHeap - before.threadHeap, 0)
  const { size } = statSync(join(folder, 'inbox.db'))
  console.log(
    `grown by ${megabytes(grown)}; the file has ${megabytes(size)}, ${Math.round(size / EVENTS)} bytes an event`,
  )
  expect(await app.ask({ ask: 'stats' })).toMatchObject({ accepted: EVENTS, unsettled: 0 })
  expect(grown).toBeLessThan(NOISE_BYTES + (EVENTS - FIRST) * BYTES_AN_EVENT)
})
