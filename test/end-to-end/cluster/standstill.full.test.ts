/**
 * SIGSTOP with events in hand, then SIGCONT: another process has them by then, and the one that stood still finds out first.
 * That takes as long as it does, and at least `STANDSTILL_MS` (`npm run test:cluster`: three minutes).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { temporaryFolder } from './cluster.ts'
import { AUTH_KEY, startInstance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { send } from './service.ts'

const EVENTS = 8
const STANDSTILL_MS = Number(process.env['STANDSTILL_MS'] ?? '0')
const POLL = { timeout: 120_000, interval: 50 }
/** What handlers wait for is due by the time that their process goes on. A lease is far longer. */
const settings = { handlerTimeoutMs: 600_000, handlerMs: 3_000 }
const TITLE = 'handlers of a process that stood still do not run on beside those of another'

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
    // One that knows of nobody else asks the store before it gives anything up. It has heard of the other when it shows life a second time.
    let beats = 0
    let silentMs = 0
    await expect
      .poll(async () => {
        const { silentMs: nowMs = 0 } = await other.ask('silence')
        if (nowMs < silentMs) beats += 1
        silentMs = nowMs
        return beats
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
      `${engine}: of ${EVENTS} handlers in hand ${count(log, 'end')} ran to their end after SIGCONT; ` +
        `${count(log, 'settled')} were settled by the process that had stood still`,
    )
    // On a busy machine the store may be slow, too.
    expect(codes?.filter((code) => code === 'lease_lost')).toHaveLength(EVENTS)
    expect(count(log, 'end')).toBe(0)
    expect(count(log, 'settled')).toBe(0)
    expect(unsettled).toBe(0)
    expect(count(otherLog, 'begin')).toBe(EVENTS)
    await other.kill()
  },
  { timeoutMs: 300_000 + STANDSTILL_MS },
)
