/** A server that never answers or accepts no connection: requests go to the spool, or get 503 without one. */
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import type { EngineServer } from '../../support/servers/engines.ts'
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { temporaryFolder } from './cluster.ts'
import { readFileSync } from 'node:fs'
import { AUTH_KEY, startInstance, type Finally, type Instance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { send } from './service.ts'

const POLL = { timeout: 60_000, interval: 100 }
const STORE_TIMEOUT_MS = 3_000

async function proxyFor({ port }: EngineServer, onFinished: Finally): Promise<TcpProxy> {
  if (port === undefined) throw new Error('This engine has no port.')
  const proxy = await startTcpProxy(port)
  onFinished(proxy.close)
  return proxy
}

function report(messageId: string): string {
  return JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId }))
}

/** Resolves although the store never answers. Does not check how fast, because machines may be slow. */
async function answerTo(instance: Instance, messageId: string): Promise<number | undefined> {
  return send(instance.url, report(messageId))
}

function hasEnded(log: string, messageId: string): boolean {
  const lines = readFileSync(log, 'utf8').split('\n')
  const id = lines.find((line) => line.includes(` ${messageId} `))?.split(' ')[1]
  return id !== undefined && lines.some((line) => line.startsWith(`end ${id} `))
}

onEachEngine(
  ['postgres', 'mysql', 'redis'],
  'loses no callback while the server is silent',
  async ({ server, context: { expect, onTestFinished } }) => {
    const proxy = await proxyFor(server, onTestFinished)
    const folder = temporaryFolder(onTestFinished)
    const log = join(folder, 'handlers.log')
    const spool = join(folder, 'spool')
    const store = server.spec('silent', { port: proxy.port })
    const instance = await startInstance({ store, log, spool, storeTimeoutMs: STORE_TIMEOUT_MS }, onTestFinished)
    await expect.poll(() => answerTo(instance, 'before'), POLL).toBe(204)
    await expect.poll(() => hasEnded(log, 'before'), POLL).toBe(true)

    proxy.mode = 'stalls'
    for (const messageId of ['first', 'second', 'third']) expect(await answerTo(instance, messageId)).toBe(204)
    expect(hasEnded(log, 'first')).toBe(false)
    expect((await instance.ask('report')).codes).toContain('store_outage')
    proxy.mode = 'passes'
    for (const messageId of ['first', 'second', 'third'])
      await expect.poll(() => hasEnded(log, messageId), POLL).toBe(true)
  },
)

for (const mode of ['stalls', 'refuses'] as const)
  onEachEngine(
    ['postgres', 'mysql', 'redis'],
    `a server that ${mode} from the start on keeps no process from listening`,
    async ({ server, context: { expect, onTestFinished } }) => {
      const proxy = await proxyFor(server, onTestFinished)
      proxy.mode = mode
      const folder = temporaryFolder(onTestFinished)
      const settings = {
        store: server.spec('silent', { port: proxy.port }),
        storeTimeoutMs: STORE_TIMEOUT_MS,
      }
      const [spooling, bare] = await Promise.all([
        startInstance({ ...settings, log: join(folder, 'a.log'), spool: join(folder, 'spool') }, onTestFinished),
        startInstance({ ...settings, log: join(folder, 'b.log') }, onTestFinished),
      ])
      expect(proxy.connections).toBeGreaterThan(0)
      expect(await answerTo(spooling, 'kept')).toBe(204)
      expect(await answerTo(bare, 'not kept')).toBe(503)
      proxy.mode = 'passes'
      const logs = [spooling.log, bare.log]
      await expect.poll(() => logs.some((log) => hasEnded(log, 'kept')), POLL).toBe(true)
      await expect.poll(() => answerTo(bare, 'accepted-again'), POLL).toBe(204)
      await expect.poll(() => logs.some((log) => hasEnded(log, 'accepted-again')), POLL).toBe(true)
    },
  )
