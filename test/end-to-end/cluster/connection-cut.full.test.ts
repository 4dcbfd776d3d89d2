/**
 * Between the instances and their server stands a network: it delays, and it cuts connections just after a commit was
 * sent, so that nobody knows what became of it. Every one of them must be harmless.
 */
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { startCluster } from './cluster.ts'
import { onEachEngine, type EngineName } from './on-each-engine.ts'
import { startLoad } from './service.ts'
import { judge, NOTHING_WRONG } from './verdict.ts'

const CUTS = Number(process.env['CUTS'] ?? '5')
const POLL = { timeout: 60_000, interval: 100 }
/** What a client sends last before something is committed. */
const COMMITTING: Readonly<Record<EngineName, string>> = {
  sqlite: '',
  postgres: 'COMMIT',
  redis: 'EVALSHA',
}

onEachEngine(
  ['postgres', 'redis'],
  `${CUTS} connections cut after a commit was sent lose nothing and double nothing`,
  async ({ server, engine, context: { expect, onTestFinished } }) => {
    if (server.port === undefined) throw new Error('This engine has no port.')
    const proxy = await startTcpProxy(server.port)
    onTestFinished(proxy.close)
    const store = server.spec('cut', { port: proxy.port })
    const cluster = await startCluster(2, [store], { storeTimeoutMs: 5_000 }, onTestFinished)
    const load = startLoad(() => cluster.instances)
    const { answered } = load.record
    for (let cut = 0; cut < CUTS; cut += 1) {
      const before = answered.size
      proxy.delayMs = cut % 2 === 0 ? 0 : 5
      await proxy.cutAfterSending(COMMITTING[engine])
      await expect.poll(() => answered.size - before, POLL).toBeGreaterThan(20)
    }
    proxy.cut()
    const before = answered.size
    await expect.poll(() => answered.size - before, POLL).toBeGreaterThan(20)
    await load.stop()
    for (const instance of cluster.instances)
      expect(await instance.ask('drain')).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
    const verdict = judge(cluster.lives, load.record)
    console.log(`${engine}, ${CUTS} connections cut: ${verdict.summary}`)
    expect(verdict).toMatchObject(NOTHING_WRONG)
    expect([...load.record.statuses.keys()]).toEqual([204])
  },
)
