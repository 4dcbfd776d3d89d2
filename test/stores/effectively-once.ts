/** A write in the event's transaction happens once, however often workers are killed while they write. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { MessageStore } from 'messaging-webhooks/store'
import { expect, onTestFinished } from 'vitest'
import { admit, eventOf } from './postgres/events.ts'
import type { TransactionalApp } from './programs/transactional-app.ts'

/** For the large run: EVENTS=10000 KILLS=100. */
const EVENTS = Number(process.env['EVENTS'] ?? 300)
const KILLS = Number(process.env['KILLS'] ?? 6)
const WORKERS = 3
const BATCH = 500
const MESSAGE_SHARE = 5
const BETWEEN_KILLS_MS = 400

export const TIMEOUT = { timeout: 1_800_000 }

function startWorker(app: TransactionalApp): ChildProcess {
  const child = fork(new URL('./programs/transactional-app.ts', import.meta.url), [JSON.stringify(app)])
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

/** `open` claims nothing. `written` returns the message of each row that the handlers have written. */
export async function checkEffectivelyOnce(
  open: MessageStore,
  app: TransactionalApp,
  written: () => Promise<readonly unknown[]>,
): Promise<void> {
  const events = Array.from({ length: EVENTS }, (_, index) =>
    eventOf(`m${Math.floor(index / MESSAGE_SHARE)}`, 1 + (index % MESSAGE_SHARE)),
  )
  // One worker is certainly killed between the row and its settlement; the others at random points.
  const [first, ...rest] = events
  if (first === undefined) throw new Error('There must be an event.')
  const hanging = startWorker({ ...app, hangs: true })
  await once(hanging, 'message')
  const hasWritten = once(hanging, 'message')
  await admit(open, [first])
  await hasWritten
  expect(await written()).toEqual([])
  const workers = [hanging, ...Array.from({ length: WORKERS - 1 }, () => startWorker(app))]
  await Promise.all(workers.slice(1).map((worker) => once(worker, 'message')))
  const admitting = (async () => {
    for (let from = 0; from < rest.length; from += BATCH) await admit(open, rest.slice(from, from + BATCH))
  })()
  for (let kills = 0; kills < KILLS; kills += 1) {
    if (kills > 0) await pause(Math.random() * BETWEEN_KILLS_MS)
    const at = kills % WORKERS
    const worker = workers[at]
    if (worker === undefined) continue
    const exited = once(worker, 'exit')
    worker.kill('SIGKILL')
    await exited
    const next = startWorker(app)
    workers[at] = next
    await once(next, 'message')
  }
  await admitting
  await expect.poll(async () => (await open.counts()).unsettled, { timeout: 1_200_000, interval: 200 }).toBe(0)
  const rows = await written()
  expect(rows).toHaveLength(EVENTS)
  const rowsOfMessages = [...Map.groupBy(rows, (message) => message).values()]
  expect(rowsOfMessages).toHaveLength(Math.ceil(EVENTS / MESSAGE_SHARE))
  expect(rowsOfMessages.filter((same) => same.length !== MESSAGE_SHARE)).toEqual([])
  expect((await open.counts()).deadLetters).toBe(0)
}
