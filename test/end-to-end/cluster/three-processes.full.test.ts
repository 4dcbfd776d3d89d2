/**
 * Three processes and one store: callbacks, repetitions and disorder reach all of them at random, and they are killed
 * meanwhile. `MESSAGES` and `KILLS` set the numbers (`npm run test:cluster`: 50,000 and 100).
 */
import { startCluster } from './cluster.ts'
import { shuffledCallbacks } from './callbacks.ts'
import { onEachEngine } from './on-each-engine.ts'
import { sendAll } from './service.ts'
import { judge, NOTHING_WRONG } from './verdict.ts'

const MESSAGES = Number(process.env['MESSAGES'] ?? '300')
const KILLS = Number(process.env['KILLS'] ?? '3')
const PROCESSES = 3
/**
 * The lease lasts minutes, so draining fails if it has to wait for one; and some events are in flight
 * at each kill.
 */
const settings = { handlerTimeoutMs: 120_000, mostHandlerMs: 100 }

onEachEngine(
  ['sqlite', 'postgres', 'mysql', 'redis'],
  `${PROCESSES} processes, killed ${KILLS} times, handle every event once and in order`,
  async ({ server, engine, context: { expect, onTestFinished } }) => {
    const cluster = await startCluster(PROCESSES, server.specs('killed'), settings, onTestFinished)
    const callbacks = shuffledCallbacks(MESSAGES)
    const replacing: Promise<void>[] = []

    const record = await sendAll(callbacks, {
      instances: () => cluster.instances,
      onProgress(part) {
        const next = replacing.length
        if (next < KILLS && part > (next + 0.5) / KILLS) replacing.push(cluster.replace(next % PROCESSES))
      },
    })
    await Promise.all(replacing)
    const ends = []
    for (const instance of cluster.instances) ends.push(await instance.ask('drain'))
    const verdict = judge(cluster.lives, record)
    console.log(`${engine}, ${replacing.length} kills: ${verdict.summary}`)
    for (const end of ends) expect(end).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
    expect(verdict).toMatchObject(NOTHING_WRONG)
    expect([...record.statuses.keys()].filter((status) => status !== undefined)).toEqual([204])
    expect(verdict.handled).toBe(new Set(callbacks.map(({ name }) => name)).size)
    expect(replacing).toHaveLength(KILLS)
  },
  { timeoutMs: 180_000 + MESSAGES * 100 + KILLS * 20_000 },
)
