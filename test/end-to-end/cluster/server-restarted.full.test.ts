/**
 * Restarts the server under load, with events in flight: no live process is taken for dead, so no event runs
 * twice at once. `RESTARTS` sets the number (`npm run test:cluster`: ten).
 */
import { startCluster } from './cluster.ts'
import { onEachEngine } from './on-each-engine.ts'
import { startLoad } from './service.ts'
import { judge, NOTHING_WRONG } from './verdict.ts'

const RESTARTS = Number(process.env['RESTARTS'] ?? '2')
const POLL = { timeout: 60_000, interval: 100 }
const ENOUGH = 30
const DEATH_MS = 10_500
/** Some handlers run at each restart; a lease is far longer than the test. */
const settings = { handlerTimeoutMs: 600_000, mostHandlerMs: 3_000, storeTimeoutMs: 5_000 }

onEachEngine(
  ['postgres', 'mysql', 'redis'],
  `restarted ${RESTARTS} times under load: no event runs concurrently or repeats without a reason`,
  async ({ server, engine, context: { expect, onTestFinished } }) => {
    const cluster = await startCluster(3, server.specs('restarts'), settings, onTestFinished)
    const load = startLoad(() => cluster.instances, { pauseMs: 200 })
    const { answered } = load.record
    const moreAnswers = async (): Promise<void> => {
      const before = answered.size
      await expect.poll(() => answered.size - before, POLL).toBeGreaterThan(ENOUGH)
    }

    for (let restart = 0; restart < RESTARTS; restart += 1) {
      await moreAnswers()
      await server.stop()
      // No pause, or one long enough that a process silent for the whole time would count as dead.
      await new Promise((resolve) => setTimeout(resolve, restart % 2 === 0 ? 0 : DEATH_MS))
      await server.start()
    }
    await moreAnswers()
    await load.stop()
    for (const instance of cluster.instances)
      expect(await instance.ask('drain')).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
    const verdict = judge(cluster.lives, load.record)
    console.log(`${engine}, restarted ${RESTARTS} times: ${verdict.summary}`)
    expect({ lost: verdict.lost, invented: verdict.invented, overlapping: verdict.overlapping }).toEqual({
      lost: NOTHING_WRONG.lost,
      invented: NOTHING_WRONG.invented,
      overlapping: NOTHING_WRONG.overlapping,
    })
    expect({ backwards: verdict.backwards, early: verdict.early }).toEqual({ backwards: [], early: [] })
  },
  { timeoutMs: 240_000 + RESTARTS * 30_000 },
)
