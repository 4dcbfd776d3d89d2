/** Learns of work that other processes took in: from a channel where the user gave a client for it, and by looking. */
import { withDeadline, type Clock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { Adapter } from './clients/connection.ts'
import type { Engine } from './engine.ts'
import { cleanError, integer, list } from './replies.ts'
import { script } from './scripted.ts'
import { PRELUDE } from './scripts/prelude.ts'

interface WakeUpOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly channel: string
  readonly subscriber: Adapter | undefined
  readonly pollIntervalMs: number
  readonly commandTimeoutMs: number
  readonly onWork: () => void
}

/** Returns the function that ends it. Rejects where the channel cannot be listened to in time. */
export async function wakeUp(options: WakeUpOptions): Promise<() => Promise<void>> {
  const { engine, clock, channel, subscriber, pollIntervalMs, commandTimeoutMs, onWork } = options
  const { redis, partitions } = engine
  let ended = false
  const unsubscribe = subscriber && (await listen(subscriber))

  async function listen(to: Adapter): Promise<() => Promise<void>> {
    try {
      return await withDeadline(clock, commandTimeoutMs, to.subscribe(channel, onWork), () => {
        throw new MessagingWebhooksError('store_slow', 'The client that listens did not subscribe in time.')
      })
    } catch (error) {
      throw cleanError(error)
    }
  }

  async function isDue(): Promise<boolean> {
    const replies = await Promise.all(
      partitions.groups.map(async (keys) => list(await redis.run(nextDueScript, keys, ['']))),
    )
    return replies.some(([now, next]) => next !== undefined && next !== null && integer(next) <= integer(now))
  }

  async function look(): Promise<void> {
    try {
      if ((await isDue()) && !ended) onWork()
    } catch {
      // The server is away; the verbs say so.
    }
    lookLater()
  }

  function lookLater(): void {
    if (!ended) clock.setTimer(() => void look(), pollIntervalMs)
  }

  lookLater()
  return async () => {
    ended = true
    // A connection that is gone listens no more.
    await unsubscribe?.().catch(() => {})
  }
}

/**
 * When the first of these partitions has something due. KEYS: due sets of one slot, or of a server without slots. ARGV: now.
 * Returns now and that time, if any.
 */
const nextDueScript = script(/* lua */ `
${PRELUDE}
local first
for _, key in ipairs(KEYS) do
  local due = tonumber(redis.pcall('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
  if due and (not first or due < first) then first = due end
end
if not first or first >= 8640000000000000 then return { ms(now) } end
return { ms(now), ms(math.max(0, first)) }
`)
