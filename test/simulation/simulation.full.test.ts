/**
 * The simulation: one seed decides every interleaving of timers, network, disk and handlers. `STEPS` sets how long it runs
 * on each stage, `SEED` replays one world and prints its trace.
 */
import { expect, test } from 'vitest'
import { planOf } from './plan.ts'
import { explain, runPlan, SEED, simulate } from './simulate.ts'
import { IN_PROCESS, MEMORY, SQLITE } from './stages.ts'

const STEPS = Number(process.env['STEPS'] ?? 20_000)
/** The long run uses different worlds each time and prints their seeds; the short run is always the same. */
const FIRST_SEED = process.env['STEPS'] === undefined ? 1 : Number(process.env['FIRST_SEED'] ?? Date.now() % 1e9)

test.each([
  [IN_PROCESS, 0.1],
  [MEMORY, 0.3],
  [SQLITE, 0.6],
] as const)('$name keeps every promise', { timeout: 3_600_000 }, async (stage, share) => {
  const report = await simulate(stage, { steps: STEPS * share, firstSeed: FIRST_SEED })
  const { found, ...figures } = report
  console.info(`simulated: ${stage.name} from seed ${SEED ?? FIRST_SEED}`, figures)
  if (found !== undefined) throw new Error(await explain(stage, found))
  expect(report.handled).toBeGreaterThan(0)
})

test.each([IN_PROCESS, MEMORY, SQLITE])('$name: a seed always gives the same interleaving', async (stage) => {
  for (const seed of [3, 7, 10]) {
    const plan = planOf(seed, stage.scope)
    const first = await runPlan(stage, plan)
    expect(await runPlan(stage, plan)).toEqual(first)
    expect((await runPlan(stage, { ...plan, seed: seed + 1 })).hash).not.toBe(first.hash)
  }
})
