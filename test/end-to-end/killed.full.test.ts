/**
 * kill -9 at random moments under load, from a client that writes down every 204: nothing that was answered is lost, none
 * comes in the wrong order, and only what was in a handler's hands comes again. `KILLS` says how often (`npm run
 * test:crash`: a hundred times each).
 */
import { expect, test } from 'vitest'
import { OUTAGES } from './crash-plan.ts'
import { readHandlersLog } from './handlers-log.ts'
import { liveAndDie, newServiceRecord, settleAll, spooled } from './killing.ts'
import { ownFolder } from '../support/own-folder.ts'

const KILLS = Number(process.env['KILLS'] ?? '4')
const TIME = { timeout: 120_000 + KILLS * 5_000 }
const NOTHING_WRONG = { lost: [], forgotten: [], backwards: [], unexplained: [] }

test(`kill -9 ${KILLS} times under load loses and reverses nothing`, TIME, async () => {
  const folder = ownFolder()
  const record = newServiceRecord()
  for (let kill = 0; kill < KILLS; kill += 1) await liveAndDie({ folder }, record, 50 + Math.random() * 400)
  await settleAll(folder)
  const verdict = readHandlersLog(folder, record)
  console.log(`${KILLS} kills: ${verdict.summary}`)
  expect(verdict).toMatchObject(NOTHING_WRONG)
  expect(record.answered.size).toBeGreaterThan(0)
})

test(`nor do ${KILLS} kills while the store is away, goes and comes back`, TIME, async () => {
  const folder = ownFolder()
  const record = newServiceRecord()
  let withSpooled = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    await liveAndDie({ folder, outage: OUTAGES[kill % OUTAGES.length] ?? 'none' }, record, 100 + Math.random() * 600)
    if (spooled(folder) > 0) withSpooled += 1
  }
  await settleAll(folder)
  const verdict = readHandlersLog(folder, record)
  console.log(`${KILLS} kills, ${withSpooled} of them with events in the spool: ${verdict.summary}`)
  expect(verdict).toMatchObject(NOTHING_WRONG)
  expect(withSpooled).toBeGreaterThan(0)
})
