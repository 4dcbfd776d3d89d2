/** The same worlds on the engines of Postgres and Redis, which are real; fewer, for each answer is waited for. */
import { expect, test } from 'vitest'
import { describePostgres, newSchema, POSTGRES_URL } from '../stores/postgres/schema.ts'
import { describeRedis, useRedis } from '../stores/redis/own-redis.ts'
import { planOf } from './plan.ts'
import { postgresServer, redisServer, type Server } from './servers.ts'
import { explain, runPlan, SEED, simulate, type Stage } from './simulate.ts'

const STEPS = Number(process.env['STEPS'] ?? 60_000) / 20
/** What a planted defect may take to be found. */
const STEPS_FOR_DEFECTS = 60_000
const FIRST_SEED = process.env['STEPS'] === undefined ? 1 : Number(process.env['FIRST_SEED'] ?? Date.now() % 1e9)
const TIMEOUT = { timeout: 3_600_000 }

async function onServer(name: string, server: Server, play: (stage: Stage) => Promise<void>): Promise<void> {
  try {
    // Both go by a clock of their own, which no process sets back.
    await play({ name, scope: { isDurable: true, setsBack: false }, engine: server.engine })
  } finally {
    await server.close()
  }
}

async function keepsPromises(stage: Stage): Promise<void> {
  const { found, ...figures } = await simulate(stage, { steps: STEPS, firstSeed: FIRST_SEED })
  console.info(`simulated: ${stage.name} from seed ${SEED ?? FIRST_SEED}`, figures)
  if (found !== undefined) throw new Error(await explain(stage, found))
  const plan = planOf(FIRST_SEED, stage.scope)
  expect(await runPlan(stage, plan)).toEqual(await runPlan(stage, plan))
}

async function findsDefect(stage: Stage, promise: string): Promise<void> {
  const { found, steps } = await simulate(stage, { steps: STEPS_FOR_DEFECTS, firstSeed: 1 })
  console.info(`${stage.name}: found after ${steps} steps`)
  expect(found?.outcome.broken?.promise).toBe(promise)
}

describePostgres('Postgres', () => {
  test('keeps every promise, and one seed is one interleaving', TIMEOUT, async () => {
    await onServer('postgres', await postgresServer(POSTGRES_URL, newSchema()), keepsPromises)
  })
})

describeRedis('Redis', () => {
  const server = useRedis({ appendfsync: 'no' })

  test('keeps every promise, and one seed is one interleaving', TIMEOUT, async () => {
    await onServer('redis', await redisServer(server().url()), keepsPromises)
  })

  test('with a planted defect, that it writes only the first change of a call, is found out', TIMEOUT, async () => {
    const defect = { from: 'if isExpected then', to: 'if isExpected and #answer == 1 then' }
    await onServer('redis', await redisServer(server().url(), defect), (stage) =>
      findsDefect(stage, 'the store keeps its contract'),
    )
  })
})
