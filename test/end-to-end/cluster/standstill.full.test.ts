/**
 * SIGSTOP with events in flight, then SIGCONT: another process has claimed them, and the stopped process detects that before it settles anything.
 * For 20 s, or `STANDSTILL_MS` (`npm run test:cluster`: three minutes).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { temporaryFolder } from './cluster.ts'
import { AUTH_KEY, startInstance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { send } from './service.ts'

const EVENTS = 8
const STANDSTILL_MS = Number(process.env['STANDSTILL_MS'] ?? '20000')
const POLL = { timeout: 120_000, interval: 50 }
/** Handlers' waits end by the time their process continues. A lease is far longer. */
const settings = { handlerTimeoutMs: 600_000, handlerMs: 3_000 }
const TITLE = 'a stopped process aborts its handlers once another process has claimed their events'

function linesOf(log: string): readonly string[] {
  return readFileSync(log, 'utf8').split('\n').slice(0, -1)
}

const count = (log: string, what: string): number => linesOf(log).filter((line) => line.startsWith(`${what} `)).length

onEachEngine(
  ['postgres', 'mysql', 'redis'],
  TITLE,
  async ({ engine, server, context: { expect, onTestFinished } }) => {
    const folder = temporaryFolder(onTestFinished)
    const store = server.spec('stands')
    const [log, otherLog] = [join(folder, 'stopped.log'), join(folder, 'other.log')]
    const stopped = await startInstance({ ...settings, store, log }, onTestFinished)
    await stopped.ask('hold')
    const messages = Array.from({ length: EVENTS }, (_, index) => `m${index}`)
    const answers = messages.map((messageId) =>
      send(stopped.url, JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId }))),
    )
    expect(await Promise.all(answers)).toEqual(messages.map(() => 204))
    await expect.poll(() => count(log, 'begin'), POLL).toBe(EVENTS)
    const other = await startInstance({ ...settings, store, log: otherLog, takes: false }, onTestFinished)
    // A process that knows of no other process asks the store before it gives anything up. It knows of the other one after its second heartbeat.
    let heartbeats = 0
    let silentMs = 0
    await expect
      .poll(async () => {
        const { silentMs: nowMs = 0 } = await other.ask('silence')
        if (nowMs < silentMs) heartbeats += 1
        silentMs = nowMs
        return heartbeats
      }, POLL)
      .toBe(2)
    await stopped.ask('release')
    stopped.standStill()
    const still = new Promise((resolve) => setTimeout(resolve, STANDSTILL_MS))
    expect(count(log, 'end')).toBe(0)
    await expect.poll(() => count(otherLog, 'settled'), POLL).toBe(EVENTS)
    await still
    stopped.goOn()
    await expect.poll(() => count(log, 'stopped') + count(log, 'end'), POLL).toBe(EVENTS)
    const { codes, unsettled } = await stopped.ask('report')

    console.log(
      `${engine}: of ${EVENTS} handlers in flight ${count(log, 'end')} ran to their end after SIGCONT; ` +
        `${count(log, 'settled')} were settled by the stopped process`,
    )
    // On a busy machine the store may also be slow.
    expect(codes?.filter((code) => code === 'lease_lost')).toHaveLength(EVENTS)
    expect(count(log, 'end')).toBe(0)
    expect(count(log, 'settled')).toBe(0)
    expect(unsettled).toBe(0)
    expect(count(otherLog, 'begin')).toBe(EVENTS)
    await other.kill()
  },
  { timeoutMs: 300_000 + STANDSTILL_MS },
)
