/** A server that falls silent: callbacks go to the spool, and run once it answers again. */
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { callback } from 'messaging-webhooks/testing'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { temporaryFolder } from './cluster.ts'
import { AUTH_KEY, startInstance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { send } from './service.ts'

const POLL = { timeout: 60_000, interval: 100 }
const MESSAGES = ['first', 'second', 'third']

function hasEnded(log: string, messageId: string): boolean {
  const lines = readFileSync(log, 'utf8').split('\n')
  const id = lines.find((line) => line.includes(` ${messageId} `))?.split(' ')[1]
  return id !== undefined && lines.some((line) => line.startsWith(`end ${id} `))
}

onEachEngine(
  ['postgres', 'mysql', 'redis'],
  'loses no callback while the server is silent',
  async ({ server, context: { expect, onTestFinished } }) => {
    if (server.port === undefined) throw new Error('This engine has no port.')
    const proxy = await startTcpProxy(server.port)
    onTestFinished(proxy.close)
    const folder = temporaryFolder(onTestFinished)
    const log = join(folder, 'handlers.log')
    const store = server.spec('silent', { port: proxy.port })
    const settings = { store, log, spool: join(folder, 'spool'), storeTimeoutMs: 3_000 }
    const instance = await startInstance(settings, onTestFinished)
    /** Resolves although the store never answers. Does not check how fast, because machines may be slow. */
    const answerTo = (messageId: string) =>
      send(instance.url, JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId })))
    await expect.poll(() => answerTo('before'), POLL).toBe(204)
    await expect.poll(() => hasEnded(log, 'before'), POLL).toBe(true)

    proxy.mode = 'stalls'
    for (const messageId of MESSAGES) expect(await answerTo(messageId)).toBe(204)
    expect(hasEnded(log, 'first')).toBe(false)
    expect((await instance.ask('report')).codes).toContain('store_outage')
    proxy.mode = 'passes'
    for (const messageId of MESSAGES) await expect.poll(() => hasEnded(log, messageId), POLL).toBe(true)
  },
)
