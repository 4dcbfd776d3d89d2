/** Forgetting dead letters that are too old, a step at a time; all else runs out by itself. */
import type { Engine } from './engine.ts'
import { integer } from './replies.ts'
import { script } from './scripted.ts'
import { PRUNE } from './scripts/prune.ts'

const pruneScript = script(PRUNE)
const A_STEP = 100

export function createPruning({ redis, partitions, retention, timeFor }: Engine): (nowMs: number) => Promise<number> {
  return async (nowMs) => {
    const replies = await Promise.all(
      partitions.dueKeys.map((dueKey) =>
        redis.run(pruneScript, [dueKey], [timeFor(nowMs), retention.deadLetterMs, A_STEP]),
      ),
    )
    return replies.reduce((total: number, reply) => total + integer(reply), 0)
  }
}
