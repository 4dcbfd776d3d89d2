/** Runs worlds one after another, one seed each, until the step limit or a broken promise. */
import type { Engine, Times } from './engine.ts'
import { planOf, type Plan, type Scope } from './plan.ts'
import { shrunken } from './shrink.ts'
import { runWorld, type Defects, type Outcome } from './world.ts'

/** A setting for worlds: an engine, and which faults may happen. */
export interface Stage {
  readonly name: string
  readonly scope: Scope
  readonly engine: (world: Times) => Promise<Engine>
  readonly inProcess?: boolean
  readonly defects?: Defects
}

interface Report {
  readonly worlds: number
  readonly steps: number
  readonly accepted: number
  readonly handled: number
  readonly refused: number
  /** The first seed that broke a promise, and the promise. */
  readonly found: { readonly plan: Plan; readonly outcome: Outcome } | undefined
}

/** `SEED` replays one world; it determines everything. */
export const SEED = process.env['SEED'] === undefined ? undefined : Number(process.env['SEED'])

export function runPlan(stage: Stage, plan: Plan, log?: (line: string) => void): Promise<Outcome> {
  const { engine, inProcess = false, defects = {} } = stage
  return runWorld({ plan, engine, inProcess, defects, ...(log === undefined ? undefined : { log }) })
}

export async function simulate(
  stage: Stage,
  { steps: budget, firstSeed }: { readonly steps: number; readonly firstSeed: number },
): Promise<Report> {
  let report: Report = { worlds: 0, steps: 0, accepted: 0, handled: 0, refused: 0, found: undefined }
  for (let seed = SEED ?? firstSeed; report.steps < budget && report.found === undefined; seed += 1) {
    const plan = planOf(seed, stage.scope)
    const outcome = await runPlan(stage, plan, SEED === undefined ? undefined : console.log)
    const { steps, accepted, handled, refused, broken } = outcome
    report = {
      worlds: report.worlds + 1,
      steps: report.steps + steps,
      accepted: report.accepted + accepted,
      handled: report.handled + handled,
      refused: report.refused + refused,
      found: broken === undefined ? undefined : { plan, outcome },
    }
    if (SEED !== undefined) break
  }
  return report
}

/** Explains a broken promise: the seed, and the smallest plan found that also breaks it. */
export async function explain(stage: Stage, { plan, outcome }: NonNullable<Report['found']>): Promise<string> {
  const promise = outcome.broken?.promise
  const smallest = await shrunken(plan, async (smaller) => (await runPlan(stage, smaller)).broken?.promise === promise)
  return [
    `${stage.name}, seed ${plan.seed} (SEED=${plan.seed} replays it): ${outcome.broken?.message ?? 'nothing'}`,
    `The smallest plan that breaks it:`,
    JSON.stringify(smallest),
  ].join('\n')
}
