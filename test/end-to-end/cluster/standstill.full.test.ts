/**
 * SIGSTOP for longer than a lease with events in hand, then SIGCONT: another process has them by then, and the one that
 * stood still finds out first. It takes the time of a lease, so it runs where `STANDSTILL=1` asks for it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { test } from 'vitest'
import { temporaryFolder } from './cluster.ts'
import { AUTH_KEY, startInstance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { send } from './service.ts'

const EVENTS = 8
const POLL = { timeout: 120_000, interval: 50 }
/** Twice that and ten seconds are a lease. */
const HANDLER_TIMEOUT_MS = 10_000
/** They are under way when their process is stopped, and by then what they wait for is due before their own time is over. */
const HANDLER_MS = 8_000
const settings = { handlerTimeoutMs: HANDLER_TIMEOUT_MS, handlerMs: HANDLER_MS }
const TITLE = 'handlers of a process that stood still do not run on beside those of another'

function linesOf(log: string): readonly string[] {
  return readFileSync(log, 'utf8').split('\n').slice(0, -1)
}

const count = (log: string, what: string): number => linesOf(log).filter((line) => line.startsWith(`${what} `)).length

if (process.env['STANDSTILL'] === undefined) test.skip(`${TITLE} (set STANDSTILL=1)`)
else
  onEachEngine(['postgres', 'redis'], TITLE, async ({ engine, server, context: { expect, onTestFinished } }) => {
    const folder = temporaryFolder(onTestFinished)
    const store = server.spec('stands')
    const [log, otherLog] = [join(folder, 'stopped.log'), join(folder, 'other.log')]
    const stopped = await startInstance({ ...settings, store, log }, onTestFinished)
    const messages = Array.from({ length: EVENTS }, (_, index) => `m${index}`)
    const answers = messages.map((messageId) =>
      send(stopped.url, JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId }))),
    )
    expect(await Promise.all(answers)).toEqual(messages.map(() => 204))
    await expect.poll(() => count(log, 'begin'), POLL).toBe(EVENTS)
    stopped.standStill()
    expect(count(log, 'end')).toBe(0)
    const other = await startInstance({ ...settings, store, log: otherLog }, onTestFinished)
    await expect.poll(() => count(otherLog, 'settled'), POLL).toBe(EVENTS)
    stopped.goOn()
    await expect.poll(() => count(log, 'stopped') + count(log, 'end'), POLL).toBe(EVENTS)
    const { codes, unsettled } = await stopped.ask('report')

    console.log(
      `${engine}: of ${EVENTS} handlers in hand ${count(log, 'end')} ran to their end after SIGCONT; ` +
        `${count(log, 'settled')} were settled by the process that had stood still`,
    )
    expect(codes).toEqual(messages.map(() => 'lease_lost'))
    expect(count(log, 'end')).toBe(0)
    expect(count(log, 'settled')).toBe(0)
    expect(unsettled).toBe(0)
    expect(count(otherLog, 'begin')).toBe(EVENTS)
    await other.kill()
  })
