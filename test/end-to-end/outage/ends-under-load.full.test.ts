/**
 * The store is away for a while under a load that goes on: afterwards the spool becomes empty under that load. The long
 * form, `OUTAGE_MS=15000 A_SECOND=700`, is for a quiet machine: it prints how far behind handlers are over time.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { EngineServer } from '../../support/servers/engines.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { temporaryFolder } from '../cluster/cluster.ts'
import { startInstance, type Finally } from '../cluster/instance.ts'
import { onEachEngine } from '../cluster/on-each-engine.ts'
import { faultsIn, holdsAnything, hrtimeMs, lagsOf, startSteadyLoad } from './steady-load.ts'

const OUTAGE_MS = Number(process.env['OUTAGE_MS'] ?? '1500')
const A_SECOND = Number(process.env['A_SECOND'] ?? '100')
/** In the long form what comes does not wait for what is slow. */
const MOST_UNDER_WAY = process.env['A_SECOND'] === undefined ? 16 : Infinity
const BEFORE_MS = Math.max(2_000, OUTAGE_MS / 2)
/** The whole run after the outage, where its lags are asked for. */
const AFTER_MS = Number(process.env['AFTER_MS'] ?? 3 * OUTAGE_MS)
const LOOK_MS = 20
const POLL = { timeout: 120_000, interval: LOOK_MS }
/** A lock is waited for so long; a server that refuses is noticed at once. */
const LOCK_WAIT_MS = 1_000
const PATIENT_MS = 20_000

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The way to a store that can be barred: by another that holds the file's lock, or by a proxy that cuts and refuses. */
async function barrier(server: EngineServer, onFinished: Finally) {
  if (server.port === undefined) {
    const store = server.spec('inbox')
    let lock: DatabaseSync | undefined
    return {
      store,
      bar() {
        lock = new DatabaseSync(store.url)
        lock.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE')
      },
      open: () => lock?.close(),
    }
  }
  const proxy = await startTcpProxy(server.port)
  onFinished(proxy.close)
  return {
    store: server.spec('inbox', { port: proxy.port }),
    bar() {
      proxy.mode = 'refuses'
      proxy.cut()
    },
    open() {
      proxy.mode = 'passes'
    },
  }
}

onEachEngine(
  ['sqlite', 'postgres', 'redis'],
  `away for ${OUTAGE_MS} ms at ${A_SECOND} callbacks a second, and its spool is empty again while they go on`,
  async ({ engine, server, context: { expect, onTestFinished } }) => {
    const folder = temporaryFolder(onTestFinished)
    const [log, spool] = [join(folder, 'handlers.log'), join(folder, 'spool')]
    const { store, bar, open } = await barrier(server, onTestFinished)
    const storeTimeoutMs = engine === 'sqlite' ? LOCK_WAIT_MS : PATIENT_MS
    const instance = await startInstance({ store, log, spool, storeTimeoutMs }, onTestFinished)
    const load = startSteadyLoad(instance.url, A_SECOND, MOST_UNDER_WAY)
    await pause(BEFORE_MS)
    const barredMs = hrtimeMs()
    bar()
    await expect.poll(() => holdsAnything(spool), POLL).toBe(true)
    await pause(OUTAGE_MS)
    const openedMs = hrtimeMs()
    open()
    const looks = { all: 0, held: 0, lastHeldMs: 0 }
    const looking = setInterval(() => {
      looks.all += 1
      if (!holdsAnything(spool)) return
      looks.held += 1
      looks.lastHeldMs = Math.round(hrtimeMs() - openedMs)
    }, LOOK_MS)
    await pause(AFTER_MS)
    clearInterval(looking)
    const endMs = hrtimeMs()
    await expect.poll(() => holdsAnything(spool), POLL).toBe(false)
    await load.stop()
    const { codes } = await instance.ask('report')
    expect(await instance.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })

    const before = lagsOf(log, load, { fromMs: 0, untilMs: barredMs - 200 })
    const line = (name: string, { count, median, longest }: typeof before) =>
      `${name}: ${count} callbacks, handlers behind by ${median.toFixed(1)} ms at the median, ${longest.toFixed(1)} at most`
    const lines = [line('before', before)]
    const stepMs = AFTER_MS / 9
    for (let at = 0; at < 9; at += 1) {
      const [fromMs, untilMs] = [openedMs + at * stepMs, Math.min(endMs, openedMs + (at + 1) * stepMs)]
      lines.push(line(`${((at * stepMs) / 1_000).toFixed(1)} s after`, lagsOf(log, load, { fromMs, untilMs })))
    }
    lines.push(
      `spool held anything in ${looks.held} of ${looks.all} looks, last ${looks.lastHeldMs} ms after; ` +
        `${load.sentAtMs.size} sent, slowest answer ${Math.round(load.slowestMs)} ms`,
    )
    console.log(`${engine}\n  ${lines.join('\n  ')}`)
    expect(faultsIn(log, load)).toEqual({ lost: [], twice: [], backwards: [], late: [] })
    expect([...load.statuses.keys()]).toEqual([204])
    expect(codes).toContain('store_outage')
  },
)
