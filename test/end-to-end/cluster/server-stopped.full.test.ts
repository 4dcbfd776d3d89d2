/**
 * The server is stopped under load and started again: the spool takes over and is drained under that load, nothing is lost, and nobody
 * is told a thousand times. `AWAY_MS` says for how long (`npm run test:cluster`: ten seconds).
 */
import { startCluster } from './cluster.ts'
import type { Instance } from './instance.ts'
import { onEachEngine } from './on-each-engine.ts'
import { startLoad } from './service.ts'
import { judge, NOTHING_WRONG } from './verdict.ts'
import { holdsAnything } from '../outage/on-sqlite.ts'

const AWAY_MS = Number(process.env['AWAY_MS'] ?? '3000')
const POLL = { timeout: 60_000, interval: 100 }
const ENOUGH = 100

async function codesOf(instance: Instance): Promise<readonly string[]> {
  return (await instance.ask('report')).codes ?? []
}

onEachEngine(
  ['postgres', 'mysql', 'redis'],
  `stopped for ${AWAY_MS / 1_000} s under load, it costs nothing, and is reported once`,
  async ({ server, engine, context: { expect, onTestFinished } }) => {
    const cluster = await startCluster(2, server.specs('away'), { storeTimeoutMs: 5_000 }, onTestFinished)
    const load = startLoad(() => cluster.instances)
    const { answered } = load.record
    const moreAnswers = async (): Promise<void> => {
      const before = answered.size
      await expect.poll(() => answered.size - before, POLL).toBeGreaterThan(ENOUGH)
    }

    await moreAnswers()
    await server.stop()
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS))
    // Whatever waited for the store when it went has been answered by now, and everything else after it.
    await moreAnswers()
    for (const instance of cluster.instances) await expect.poll(() => codesOf(instance), POLL).toContain('store_outage')
    await server.start()
    await moreAnswers()
    const spools = cluster.instances.map((_, place) => cluster.spoolOf(place))
    await expect.poll(() => spools.filter(holdsAnything), { ...POLL, interval: 20 }).toEqual([])
    await load.stop()

    for (const instance of cluster.instances)
      expect(await instance.ask('drain')).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
    const verdict = judge(cluster.lives, load.record)
    const reported = await Promise.all(cluster.instances.map(codesOf))
    console.log(`${engine}, stopped for ${AWAY_MS} ms: ${verdict.summary}; reported: ${reported.join('; ')}`)
    expect(verdict).toMatchObject(NOTHING_WRONG)
    expect([...load.record.statuses.keys()]).toEqual([204])
    for (const codes of reported) {
      expect(codes.filter((code) => code === 'store_outage')).toHaveLength(1)
      // The dispatcher, which asks the store on its own account, says it once more; and on a machine without time for it
      // the store is slow before it goes, or after it is back.
      expect(codes.length).toBeLessThanOrEqual(5)
    }
  },
  { timeoutMs: 180_000 + 3 * AWAY_MS },
)
