/** Makes a plan that breaks a promise as small as possible: fewer operations and fewer processes that still break the same promise. */
import type { Plan } from './plan.ts'

type IsBroken = (plan: Plan) => Promise<boolean>

/** Maximum number of worlds to try. */
const MAX_TRIES = 300

export async function shrunken(plan: Plan, isBroken: IsBroken): Promise<Plan> {
  let best = plan
  let tries = 0

  async function take(smaller: Plan): Promise<boolean> {
    if (tries >= MAX_TRIES) return false
    tries += 1
    if (!(await isBroken(smaller))) return false
    best = smaller
    return true
  }

  for (const calmer of [{ throwing: 0 }, { hanging: 0 }, { quick: 1 }, { processes: 1 }, { spool: false }])
    await take({ ...best, ...calmer })
  for (let size = Math.ceil(best.operations.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < best.operations.length;) {
      const operations = best.operations.toSpliced(at, size)
      if (!(await take({ ...best, operations }))) at += size
    }
  return best
}
