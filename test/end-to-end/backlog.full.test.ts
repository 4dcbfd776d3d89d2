/**
 * A start with a large backlog (`npm run test:memory`: 100,000 events, all of them dispatched): it costs as much as a start on an empty
 * file, and the events are dispatched in order.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { admit, sample } from '../../src/store-conformance/samples.ts'
import { FIND, FIND_DUE, FIND_OVERDUE, FIND_PAYLOAD, UPDATE } from '../../src/stores/sqlite/records.ts'
import { dispatchedEvents, megabytes, startInboxApp, type Memory } from './inbox-app.ts'
import { ownFolder } from '../support/own-folder.ts'
import { hostOf } from '../support/stores.ts'

const WHOLE = process.env['EVENTS'] !== undefined
const MESSAGES = WHOLE ? 25_000 : 8_000
/** The positions of a message's events in order of arrival: the third arrives first. */
const ARRIVAL = [3, 1, 4, 2]
const EVENTS = MESSAGES * ARRIVAL.length
const MESSAGES_A_BATCH = 500
/** The minimum number of events that are dispatched. */
const SLICE = 3_000

async function fill(path: string): Promise<void> {
  const store = await sqliteStore({ path, synchronous: 'OFF' }).open(hostOf())
  for (const at of ARRIVAL) {
    for (let first = 0; first < MESSAGES; first += MESSAGES_A_BATCH) {
      const batch = Array.from({ length: MESSAGES_A_BATCH }, (_, nth) => sample({ message: `m${first + nth}`, at }))
      await admit(store, batch)
    }
  }
  expect(await store.counts()).toMatchObject({ unsettled: EVENTS })
  await store.close()
}

/** The cost of a start until the first new callback is answered; the app goes on with its handlers held. */
async function begin(folder: string) {
  const app = await startInboxApp({ folder, held: true, synchronous: 'OFF' })
  const status = await app.post(callback.smsDelivery({ messageId: 'new' }))
  const cpuMs = await app.ask<number>({ ask: 'cpuMs' })
  return { app, status, cpuMs, memory: await app.ask<Memory>({ ask: 'memory' }) }
}

test(`a start with ${EVENTS} waiting events is as light as one with none`, { timeout: 600_000 }, async () => {
  const folder = ownFolder()
  const path = join(folder, 'inbox.db')
  await fill(path)
  const empty = await begin(ownFolder())
  await empty.app.kill()
  const full = await begin(folder)
  const { app } = full
  for (const [name, { app: started, cpuMs, memory }] of Object.entries({ empty, full }))
    console.log(
      `${name}: ${started.startCpuMs.toFixed(0)} ms of CPU until started, ${cpuMs.toFixed(0)} ms until the first 204; ` +
        `heap ${megabytes(memory.heap)}, store's thread ${megabytes(memory.threadHeap)}, RSS ${megabytes(memory.rss)}`,
    )
  expect([empty.status, full.status]).toEqual([204, 204])
  expect(full.cpuMs - empty.cpuMs).toBeLessThan(1_000)
  // The events themselves take about 700 bytes each.
  expect(full.memory.heap - empty.memory.heap).toBeLessThan(5e6)
  expect(full.memory.threadHeap - empty.memory.threadHeap).toBeLessThan(5e6)
  if (WHOLE) expect(full.memory.rss - empty.memory.rss).toBeLessThan(40e6)

  await app.ask({ ask: 'behave', held: false })
  const left = async (): Promise<number> => (await app.ask<{ unsettled: number }>({ ask: 'stats' })).unsettled
  if (WHOLE) expect(await app.ask({ ask: 'drain', deadlineMs: 540_000 })).toBe(true)
  else await expect.poll(left, { timeout: 60_000, interval: 500 }).toBeLessThan(EVENTS - SLICE)
  const { heap, threadHeap, rss } = await app.ask<Memory>({ ask: 'memory' })
  console.log(`later: heap ${megabytes(heap)}, store's thread ${megabytes(threadHeap)}, RSS ${megabytes(rss)}`)
  expect(heap - full.memory.heap).toBeLessThan(5e6)
  expect(threadHeap - full.memory.threadHeap).toBeLessThan(5e6)

  // Query the store before reading the log: an event leaves the store only after its line was written.
  const stillLeft = await left()
  const places = new Map<string, string>()
  let given = 0
  for (const { messageId, status } of dispatchedEvents(folder)) {
    if (messageId === 'new') continue
    given += 1
    places.set(messageId, `${places.get(messageId) ?? ''}${status.slice(messageId.length)}`)
  }
  for (const inOrder of places.values()) expect('-1-2-3-4'.startsWith(inOrder), inOrder).toBe(true)
  expect(given + stillLeft).toBeGreaterThanOrEqual(EVENTS)
  expect(given).toBeGreaterThan(WHOLE ? EVENTS - 1 : SLICE)
})

test('no query that runs for each event scans a table or sorts', async () => {
  const path = join(ownFolder(), 'inbox.db')
  await (await sqliteStore(path).open(hostOf())).close()
  const db = new DatabaseSync(path)
  for (const sql of [FIND, FIND_DUE, FIND_OVERDUE, FIND_PAYLOAD, UPDATE]) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
    const steps = plan.map((step) => String(step['detail']))
    expect(
      steps.filter((step) => /TEMP B-TREE|SCAN (?!.*USING)/.test(step)),
      sql,
    ).toEqual([])
    expect(steps).not.toEqual([])
  }
  db.close()
})
