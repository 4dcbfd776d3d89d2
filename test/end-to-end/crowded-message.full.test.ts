/** Many undispatched reports of one message: they run in order, one at a time, on every store. */
import { memoryStore, type Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { test, type TestContext } from 'vitest'
import { post, receiving } from '../support/receiving.ts'
import { storeOf } from '../support/servers/store-spec.ts'
import { onEachEngine } from './cluster/on-each-engine.ts'

const REPORTS = 160
const HANDLER_MS = 20
const TITLE = 'reports of one message run in order and one at a time, however many wait'

async function runsInOrder(store: Store, { expect, onTestFinished }: TestContext): Promise<void> {
  const { receiver, url } = await receiving(
    { store, spool: false, storeTimeoutMs: 40_000 },
    { kind: 'status' },
    onTestFinished,
  )
  const ran: number[] = []
  let running = 0
  let overlaps = 0
  let admitted = (): void => {}
  const areAdmitted = new Promise<void>((resolve) => (admitted = resolve))
  receiver.onAny(async (event) => {
    running += 1
    if (running > 1) overlaps += 1
    await areAdmitted
    await new Promise((resolve) => void setTimeout(resolve, HANDLER_MS))
    ran.push(Number(event.timestamp))
    running -= 1
  })
  await receiver.start()
  const first = Math.floor(Date.now() / 1_000)
  const times = Array.from({ length: REPORTS }, (_, at) => first + at)
  const report = async (timestamp: number): Promise<void> => {
    expect((await post(url, callback.smsDelivery({ messageId: 'm', timestamp, status: 'queued' }))).status).toBe(204)
  }
  await report(first)
  await Promise.all(times.slice(1).map(report))
  admitted()
  await expect.poll(() => ran.length, { timeout: 60_000 }).toBe(REPORTS)
  expect({ overlaps, ran }).toEqual({ overlaps: 0, ran: times })
}

test(`memory: ${TITLE}`, { timeout: 120_000 }, (context) => runsInOrder(memoryStore(), context))

onEachEngine(['sqlite', 'postgres', 'mysql', 'redis'], TITLE, async ({ server, context }) => {
  await runsInOrder(await storeOf({ ...server.spec('crowded'), commandTimeoutMs: 30_000 }), context)
})
