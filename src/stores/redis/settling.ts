/** What became of claimed events, and of dead letters. */
import type { Resolution, Settlement } from '../../inbox/store.ts'
import { callsFor, inPlace, type Call } from './calls.ts'
import type { Engine } from './engine.ts'
import { list, orThrow } from './replies.ts'
import { script } from './scripted.ts'
import { RESOLVE } from './scripts/resolve.ts'
import { SETTLE } from './scripts/settle.ts'

const settleScript = script(SETTLE)
const resolveScript = script(RESOLVE)

interface Settling {
  settle(settlements: readonly Settlement[], nowMs: number): Promise<readonly boolean[]>
  resolve(id: string, resolution: Resolution, nowMs: number): Promise<boolean>
}

export function createSettling(engine: Engine): Settling {
  const { redis, partitions, retention, timeFor, nextCall, damage } = engine
  const { retentionMs, dedupeMs, deadLetterMs } = retention

  async function settleCall({ name, keys, members }: Call<Settlement>, nowMs: number): Promise<readonly boolean[]> {
    const args = [timeFor(nowMs), name, retentionMs, dedupeMs, deadLetterMs]
    const fields = members.flatMap(({ item, key }) => {
      const { messageKey, id, token, outcome } = item
      const delayMs = 'dueMs' in item ? Math.round(item.dueMs - nowMs) : 0
      return [key, messageKey, id, token, outcome, delayMs, 'error' in item ? item.error : '']
    })
    const [answers, notes] = list(await redis.run(settleScript, keys, [...args, ...fields]))
    damage.tell(notes)
    return list(answers).map((reply) => orThrow(reply) === 1)
  }

  return {
    async settle(settlements, nowMs) {
      const calls = callsFor(settlements, engine)
      return inPlace(calls, await Promise.all(calls.map((call) => settleCall(call, nowMs))))
    },
    async resolve(id, resolution, nowMs) {
      const call = nextCall()
      // An id does not say of which message it is, nor so in which partition.
      const replies = await Promise.all(
        partitions.dueKeys.map((dueKey) =>
          redis.run(resolveScript, [dueKey], [timeFor(nowMs), id, resolution, retentionMs, call]),
        ),
      )
      return replies.map(list).some(([answer, notes]) => {
        damage.tell(notes)
        return orThrow(answer) === 1
      })
    },
  }
}
