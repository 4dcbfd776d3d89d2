/**
 * kill -9 at every moment that matters in the life of an event, under load. `CRASHES` says how often at each (`npm run
 * test:crash`: twenty times).
 */
import { expect, test } from 'vitest'
import { CRASH_POINTS } from './crash-plan.ts'
import { readHandlersLog } from './handlers-log.ts'
import { liveAndDie, newServiceRecord, settleAll } from './killing.ts'
import { ownFolder } from '../support/own-folder.ts'

const CRASHES = Number(process.env['CRASHES'] ?? '1')
const TIME = { timeout: 120_000 + CRASHES * CRASH_POINTS.length * 5_000 }
const MOST_PASSES = 60

test(
  `a process that ends ${CRASHES} times at each of ${CRASH_POINTS.length} points loses and repeats nothing`,
  TIME,
  async () => {
    const folder = ownFolder()
    const record = newServiceRecord()
    for (let crash = 0; crash < CRASHES; crash += 1)
      for (const point of CRASH_POINTS)
        await liveAndDie({ folder, crash: { point, passes: 1 + Math.floor(Math.random() * MOST_PASSES) } }, record)
    await settleAll(folder)
    const verdict = readHandlersLog(folder, record)
    console.log(`${CRASHES} times at each of ${CRASH_POINTS.join(', ')}: ${verdict.summary}`)
    expect(verdict).toMatchObject({ lost: [], forgotten: [], backwards: [], unexplained: [] })
    expect(verdict.points).toEqual(new Map(CRASH_POINTS.map((point) => [point, CRASHES])))
  },
)
