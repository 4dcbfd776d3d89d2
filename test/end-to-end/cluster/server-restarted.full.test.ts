/**
 * Restarts the server under load, with events in flight: the spools take over and drain under that load, nothing is lost, and
 * no live process is taken for dead, so no event runs twice at once. `RESTARTS` sets the number (`npm run test:cluster`: ten).
 */
import { onEachEngine } from './on-each-engine.ts'
import { startUnderLoad } from './under-load.ts'
import { NOTHING_WRONG } from './verdict.ts'

const RESTARTS = Number(process.env['RESTARTS'] ?? '2')
const ENOUGH = 30
const DEATH_MS = 10_500
/** Some handlers run at each restart; a lease is far longer than the test. */
const settings = { handlerTimeoutMs: 600_000, mostHandlerMs: 3_000, storeTimeoutMs: 5_000 }

onEachEngine(
  ['postgres', 'mysql', 'redis'],
  `restarted ${RESTARTS} times under load: no event is lost, runs concurrently or repeats without a reason`,
  async ({ server, context }) => {
    const { cluster, load, moreAnswers, untilSpoolsAreEmpty, expectAllHandled, expectOnly204 } = await startUnderLoad(
      3,
      server.specs('restarts'),
      settings,
      context,
      { pauseMs: 200 },
    )
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      await moreAnswers(ENOUGH)
      await server.stop()
      // No pause, or one long enough that a process silent for the whole time would count as dead.
      await new Promise((resolve) => setTimeout(resolve, restart % 2 === 0 ? 0 : DEATH_MS))
      await server.start()
    }
    await moreAnswers(ENOUGH)
    await untilSpoolsAreEmpty()
    await load.stop()
    // The settlement of an event may be lost with its connection.
    const { twice: _, ...wrong } = NOTHING_WRONG
    await expectAllHandled(wrong)
    await expectOnly204()
    if (RESTARTS > 1)
      for (const instance of cluster.instances)
        context.expect((await instance.ask('report')).codes).toContain('store_outage')
  },
  { timeoutMs: 240_000 + RESTARTS * 30_000 },
)
