/**
 * kill -9 under load, from a client that records every 204: around outages of the store, and at every critical moment
 * in the life of an event. No answered event is lost, none runs out of order, and only events that were in flight
 * run again. `KILLS` and `CRASHES` set the numbers (`npm run test:crash`: a hundred each, and twenty at each moment).
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CRASH_POINTS } from './cluster/crashing.ts'
import { STORE_OUTAGES } from './cluster/instance.ts'
import { holdsAnything } from './cluster/under-load.ts'
import { onSqlite } from './outage/on-sqlite.ts'

const KILLS = Number(process.env['KILLS'] ?? '4')
const CRASHES = Number(process.env['CRASHES'] ?? '1')
const TIME = { timeout: 120_000 + Math.max(KILLS, CRASHES * CRASH_POINTS.length) * 5_000 }
const MAX_PASSES = 60
/** No pause between callbacks, so that many are admitted together. */
const LOAD = { pauseMs: 0 }

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test(`kill -9 ${KILLS} times around outages of the store loses and reverses nothing`, TIME, async () => {
  const { cluster, spool, load, moreAnswers, expectAllHandled } = await onSqlite({}, undefined, LOAD)
  let withSpooled = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    await cluster.replace(0, { outage: STORE_OUTAGES[kill % STORE_OUTAGES.length] })
    await moreAnswers(1)
    await pause(100 + Math.random() * 500)
    if (holdsAnything(spool)) withSpooled += 1
  }
  await cluster.replace(0)
  await load.stop()
  await expectAllHandled()
  expect(withSpooled).toBeGreaterThan(0)
})

test(
  `a process that ends ${CRASHES} times at each of ${CRASH_POINTS.length} points loses and repeats nothing`,
  TIME,
  async () => {
    const { cluster, load, instance, expectAllHandled } = await onSqlite({}, undefined, LOAD)
    for (let crash = 0; crash < CRASHES; crash += 1)
      for (const point of CRASH_POINTS) {
        await cluster.replace(0, { crash: { point, passes: 1 + Math.floor(Math.random() * MAX_PASSES) } })
        await instance().ended
      }
    await cluster.replace(0)
    await load.stop()
    await expectAllHandled()
    const points = cluster.lives.flatMap(({ log }) => readFileSync(log, 'utf8').match(/^at [\w-]+/gm) ?? [])
    expect(points).toEqual(Array.from({ length: CRASHES }, () => CRASH_POINTS.map((point) => `at ${point}`)).flat())
  },
)
