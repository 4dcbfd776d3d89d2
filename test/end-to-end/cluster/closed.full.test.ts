/** A process closes while handlers run: after its deadline the other processes receive their events at once, without waiting for a lease. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { temporaryFolder } from './cluster.ts'
import { AUTH_KEY, startInstance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { send } from './service.ts'

const EVENTS = 6
const POLL = { timeout: 60_000, interval: 50 }
/** A lease lasts longer than the test waits. */
const settings = { handlerTimeoutMs: 600_000 }

const linesOf = (log: string, what: string): readonly string[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${what} `))

onEachEngine(
  ['sqlite', 'postgres', 'mysql', 'redis'],
  'events unfinished at close run in another process at once',
  async ({ server, context: { expect, onTestFinished } }) => {
    const folder = temporaryFolder(onTestFinished)
    const store = server.spec('closes')
    const [log, otherLog] = [join(folder, 'closing.log'), join(folder, 'other.log')]
    const closing = await startInstance({ ...settings, store, log }, onTestFinished)
    await closing.ask('hold')
    const messages = Array.from({ length: EVENTS }, (_, index) => `m${index}`)
    for (const messageId of messages) {
      const body = JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId }))
      expect(await send(closing.url, body)).toBe(204)
    }
    await expect.poll(() => linesOf(log, 'begin').length, POLL).toBe(EVENTS)
    const other = await startInstance({ ...settings, store, log: otherLog }, onTestFinished)
    expect(linesOf(otherLog, 'begin')).toEqual([])
    await closing.ask('close')
    expect(await other.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
    // The unfinished attempt counts.
    expect(linesOf(otherLog, 'begin').map((line) => line.split(' ')[5])).toEqual(messages.map(() => '2'))
    expect(linesOf(log, 'settled').filter((line) => line.includes(' done '))).toEqual([])
  },
)
