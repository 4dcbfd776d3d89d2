/**
 * Cuts the connection to the server at every byte in either direction: while it opens, admits,
 * claims, settles, counts and replays. A run takes a fixed selection of positions, `EVERY_BYTE=1` takes them all.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { afterAll, beforeAll, describe, test, type TestContext } from 'vitest'
import { post, receiving } from '../support/receiving.ts'
import { startCuttingProxy } from '../support/servers/cutting-proxy.ts'
import { MYSQL, POSTGRES, REDIS, type EngineServer } from '../support/servers/engines.ts'
import { storeOf, type StoreSpec } from '../support/servers/store-spec.ts'
import { titleWith } from '../support/skipping.ts'

const STEP = process.env['EVERY_BYTE'] === undefined ? 2_503 : Number(process.env['STEP'] ?? '1')
const TIMEOUT = { timeout: STEP > 1_000 ? 300_000 : 7_200_000 }
/** A lease lasts twice the handler timeout plus 10 s. If the answer with a lease was lost, the event returns when the lease expires. */
const HANDLER_TIMEOUT_MS = 500
const BACK = { timeout: 60_000, interval: 10 }
const SLOW_MS = 5_000

const DRIVERS = [
  { driver: 'pg', engine: POSTGRES },
  { driver: 'mysql2', engine: MYSQL },
  { driver: 'redis', engine: REDIS, client: 'redis' },
  { driver: 'ioredis', engine: REDIS, client: 'ioredis' },
] as const

/** The tests mostly wait for leases, so they run at once. */
type Context = Pick<TestContext, 'expect' | 'onTestFinished'>

const servers = new Map<string, EngineServer>()
let names = 0

beforeAll(async () => {
  for (const { name, start, missing } of [POSTGRES, MYSQL, REDIS])
    if (missing() === undefined) servers.set(name, await start())
}, 120_000)

afterAll(async () => {
  for (const server of servers.values()) await server.remove()
})

async function proxyFor({ engine }: (typeof DRIVERS)[number], { onTestFinished }: Context) {
  const port = servers.get(engine.name)?.port
  if (port === undefined) throw new Error('The server has no port.')
  const proxy = await startCuttingProxy(port)
  onTestFinished(() => proxy.close())
  return proxy
}

/** A receiver on a store of its own behind the proxy, and what its handlers received. */
async function receiverBehind(
  driver: (typeof DRIVERS)[number],
  port: number,
  spooled: boolean,
  { expect, onTestFinished }: Context,
  storeTimeoutMs?: number,
) {
  const spec = servers.get(driver.engine.name)?.spec(`cut_${(names += 1)}`, { port })
  if (spec === undefined) throw new Error('The server was not started.')
  const store: StoreSpec = 'client' in driver ? { ...spec, client: driver.client } : spec
  const folder = mkdtempSync(join(tmpdir(), 'cut-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { receiver, server, url, errors } = await receiving(
    {
      ...{ store: await storeOf(store), spool: spooled ? folder : false },
      ...{ handlerTimeoutMs: HANDLER_TIMEOUT_MS, retry: { attempts: 1 } },
      ...(storeTimeoutMs === undefined ? {} : { storeTimeoutMs }),
    },
    {},
    onTestFinished,
  )
  const times = new Map<string, number>()
  const handled = { times, areBroken: true }
  receiver.on('message.*', ({ messageId, status }) => {
    if (messageId.startsWith('broken') && handled.areBroken) throw new Error('broken')
    const name = `${messageId} ${status}`
    times.set(name, (times.get(name) ?? 0) + 1)
  })
  return {
    ...{ receiver, url, errors, handled, expect },
    async close() {
      server.closeAllConnections()
      server.close()
      const startedMs = performance.now()
      await receiver.close()
      return performance.now() - startedMs
    },
  }
}

type Running = Awaited<ReturnType<typeof receiverBehind>>

async function untilItWorks<T>(work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
}

/** Finds the dead letter of that message, and replays it until its handler has received it. */
async function replay({ receiver, handled, expect }: Running, messageId: string): Promise<void> {
  const find = async (): Promise<string | undefined> =>
    (await untilItWorks(() => receiver.deadLetters.list())).items.find(
      ({ event }) => 'messageId' in event && event.messageId === messageId,
    )?.id
  await expect.poll(find, BACK).toBeDefined()
  const id = (await find()) ?? ''
  handled.areBroken = false
  await untilItWorks(() => receiver.deadLetters.replay(id))
  await expect.poll(() => handled.times.has(`${messageId} delivered`), BACK).toBe(true)
  handled.areBroken = true
}

/** Everything that a receiver asks of its store; resolves to the answers, and the duration of the last event. */
async function use(running: Running, nth: number) {
  const { receiver, url, handled, expect } = running
  const startedMs = performance.now()
  const answered: string[] = []
  const statuses: number[] = []
  for (const [messageId, status] of [
    [`m${nth}`, 'failed'],
    [`m${nth}`, 'delivered'],
    [`broken${nth}`, 'delivered'],
  ] as const) {
    const answer = await post(url, callback.smsDelivery({ messageId, status }))
    statuses.push(answer.status)
    if (answer.status === 204) answered.push(`${messageId} ${status}`)
  }
  const isMissing = (name: string): boolean => name.startsWith('m') && !handled.times.has(name)
  await expect.poll(() => answered.filter(isMissing), BACK).toEqual([])
  await receiver.messageState(`m${nth}`).catch(() => {})
  await receiver.stats().catch(() => {})
  if (answered.includes(`broken${nth} delivered`)) await replay(running, `broken${nth}`)
  return { answered, statuses, lagMs: performance.now() - startedMs }
}

const cases = [
  { direction: 'reply', spooled: true },
  { direction: 'request', spooled: true },
  { direction: 'reply', spooled: false },
  { direction: 'request', spooled: false },
] as const

for (const driver of DRIVERS) {
  const reason = process.env['CI'] === 'true' ? undefined : driver.engine.missing()
  describe.skipIf(reason !== undefined)(titleWith(reason, driver.driver), () => {
    test.concurrent.for(cases)(
      'dispatches every answered event once: $direction, spool $spooled',
      TIMEOUT,
      async (each, context) => {
        const { expect } = context
        const { direction, spooled } = each
        const proxy = await proxyFor(driver, context)
        const running = await receiverBehind(driver, proxy.port, spooled, context)
        const { receiver, handled } = running
        await receiver.start()
        proxy.cutAfter(direction, Infinity)
        await use(running, 0)
        const total = proxy.passed(direction)
        const counts = { rounds: 0, cut: 0, refused: 0, slow: 0 }
        let slowestMs = 0
        for (let at = 1; at <= total; at += STEP) {
          proxy.cutAfter(direction, at)
          const { answered, statuses, lagMs } = await use(running, at)
          counts.rounds += 1
          if (proxy.disarm()) counts.cut += 1
          counts.refused += statuses.filter((status) => status !== 204).length
          if (spooled) expect(statuses, `cut after ${at}`).toEqual([204, 204, 204])
          for (const name of answered) expect(handled.times.get(name), `${name}, cut after ${at}`).toBe(1)
          if (lagMs > SLOW_MS) console.log(`${driver.driver}, ${direction} cut after ${at}: ${Math.round(lagMs)} ms`)
          if (lagMs > SLOW_MS) counts.slow += 1
          slowestMs = Math.max(slowestMs, lagMs)
        }
        await expect.poll(async () => (await untilItWorks(() => receiver.stats())).unsettled, BACK).toBe(0)
        const closedMs = Math.round(await running.close())
        console.log(driver.driver, { ...each, total, ...counts, slowestMs: Math.round(slowestMs), closedMs })
      },
    )

    test.concurrent('reopens a store after a cut anywhere in its opening', TIMEOUT, async (context) => {
      const proxy = await proxyFor(driver, context)
      proxy.cutAfter('reply', Infinity)
      const first = await receiverBehind(driver, proxy.port, true, context)
      await first.receiver.start()
      const total = proxy.passed('reply')
      await first.close()
      for (let at = 0; at < total; at += STEP) {
        proxy.cutAfter('reply', at)
        const running = await receiverBehind(driver, proxy.port, true, context)
        await running.receiver.start().catch(() => {})
        const { answered } = await use(running, at)
        context.expect(answered.map((name) => running.handled.times.get(name))).toEqual([1, 1, 1])
        proxy.disarm()
        await running.close()
      }
    })

    test.concurrent('reads answers that arrive byte by byte', TIMEOUT, async (context) => {
      const proxy = await proxyFor(driver, context)
      proxy.dribbles = true
      // However slow a busy machine is, the store is not unavailable.
      const running = await receiverBehind(driver, proxy.port, true, context, 60_000)
      await running.receiver.start()
      const { answered } = await use(running, 0)
      context.expect(answered.map((name) => running.handled.times.get(name))).toEqual([1, 1, 1])
      await running.close()
      context.expect(running.errors.filter(({ code }) => code.startsWith('store_'))).toEqual([])
    })
  })
}
