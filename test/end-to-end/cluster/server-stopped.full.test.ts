/**
 * Stops the server under load and starts it again: the spool takes over and drains under that load, nothing is lost, and errors are
 * reported only a few times. `AWAY_MS` sets the duration (`npm run test:cluster`: ten seconds).
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
  `stopped for ${AWAY_MS / 1_000} s under load: nothing is lost, and the outage is reported once`,
  async ({ server, engine, context: { expect, onTestFinished } }) => {
    const cluster = await startCluster(2, server.specs('stopped'), { storeTimeoutMs: 5_000 }, onTestFinished)
    const load = startLoad(() => cluster.instances)
    const { answered } = load.record
    const moreAnswers = async (): Promise<void> => {
      const before = answered.size
      await expect.poll(() => answered.size - before, POLL).toBeGreaterThan(ENOUGH)
    }

    await moreAnswers()
    await server.stop()
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS))
    // Every callback that waited for the store when it stopped has been answered by now, and so has every later one.
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
      // The dispatcher calls the store separately and reports it once more; on a busy machine
      // the store is slow before it stops, or after it is back.
      expect(codes.length).toBeLessThanOrEqual(5)
    }
  },
  { timeoutMs: 180_000 + 3 * AWAY_MS },
)
