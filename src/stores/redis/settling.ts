/** What became of claimed events, and of dead letters. */
import type { Resolution, Settlement } from '../../inbox/store.ts'
import type { Engine } from './engine.ts'
import { integer } from './replies.ts'
import { script } from './scripted.ts'
import { RESOLVE } from './scripts/resolve.ts'
import { SETTLE } from './scripts/settle.ts'

const settleScript = script(SETTLE)
const resolveScript = script(RESOLVE)

interface Settling {
  settle(settlements: readonly Settlement[], nowMs: number): Promise<readonly boolean[]>
  resolve(id: string, resolution: Resolution, nowMs: number): Promise<boolean>
}

export function createSettling({ redis, partitions, retention, timeFor, nextCall }: Engine): Settling {
  const { retentionMs, dedupeMs, deadLetterMs } = retention

  async function settleOne(settlement: Settlement, nowMs: number): Promise<boolean> {
    const { id, messageKey, token, outcome } = settlement
    const reply = await redis.run(
      settleScript,
      [partitions.dueKeyOf(messageKey)],
      [
        timeFor(nowMs),
        messageKey,
        id,
        token,
        outcome,
        outcome === 'retry' ? settlement.dueMs - nowMs : 0,
        outcome === 'done' ? '' : settlement.error,
        nextCall(),
        retentionMs,
        dedupeMs,
        deadLetterMs,
      ],
    )
    return integer(reply) === 1
  }

  return {
    settle: (settlements, nowMs) => Promise.all(settlements.map((settlement) => settleOne(settlement, nowMs))),
    async resolve(id, resolution, nowMs) {
      const call = nextCall()
      // An id does not say of which message it is, nor so in which partition.
      const replies = await Promise.all(
        partitions.dueKeys.map((dueKey) =>
          redis.run(resolveScript, [dueKey], [timeFor(nowMs), id, resolution, retentionMs, call]),
        ),
      )
      return replies.some((reply) => integer(reply) === 1)
    },
  }
}
