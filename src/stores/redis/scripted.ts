/** Runs scripts by their digests, in time, and sends a script where the server does not know it (any more). */
import { createHash } from 'node:crypto'
import { pause, withDeadline, type Clock } from '../../runtime/clock.ts'
import { isError } from '../../runtime/values.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Adapter, RedisArgument, Reply } from './clients/connection.ts'
import { cleanError, isPassing, RedisError } from './replies.ts'

type Script = ReturnType<typeof script>

export function script(text: string) {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

export type Scripted = ReturnType<typeof createScripted>

/** How often to look whether the connection is back. */
const LOOK_EVERY_MS = 20

/**
 * What is asked rejects with `store_slow`, `store_failed`, or what Redis refused. `gives up` is for who looks once: it does not wait for a
 * server that has refused it.
 */
export function createScripted(
  adapter: Adapter,
  clock: Clock,
  timeoutMs: number,
  whenRefused: 'waits' | 'gives up' = 'waits',
) {
  let ended = false

  /**
   * Every command may run twice, so one whose connection broke is sent again as long as somebody waits for it. It waits for the
   * connection here and not in the client's queue: what nobody waits for any more must not be sent later.
   */
  async function persist<T>(send: () => Promise<T>): Promise<T> {
    let over = false

    async function sent(): Promise<T> {
      for (;;) {
        if (adapter.isReady()) {
          try {
            return await send()
          } catch (error) {
            if (over || ended || !isPassing(error)) throw error
          }
        } else if (over || ended) throw new MessagingWebhooksError('store_slow')
        else if (whenRefused === 'gives up' && adapter.lastError() !== undefined) throw unreachable()
        await pause(clock, LOOK_EVERY_MS)
      }
    }

    const answer = sent()
    try {
      return await withDeadline(clock, timeoutMs, answer, () => {
        over = true
        // A client may settle it later, or never.
        answer.catch(() => {})
        if (!adapter.isReady()) throw unreachable(` within ${timeoutMs} ms`)
        throw new MessagingWebhooksError('store_slow', `Redis did not answer within ${timeoutMs} ms.`)
      })
    } catch (error) {
      throw cleanError(error)
    }
  }

  function unreachable(when = ''): MessagingWebhooksError {
    const lastError = adapter.lastError()
    const cause = lastError === undefined ? undefined : new RedisError(lastError)
    return new MessagingWebhooksError('store_slow', `Redis could not be reached${when}.`, { cause })
  }

  async function evaluate(
    { sha, text }: Script,
    key: string | undefined,
    rest: readonly RedisArgument[],
  ): Promise<Reply> {
    try {
      return await adapter.send(key, ['EVALSHA', sha, ...rest])
    } catch (error) {
      if (!isError(error) || !error.message.startsWith('NOSCRIPT')) throw error
      return adapter.send(key, ['EVAL', text, ...rest])
    }
  }

  return {
    /** `keys` are of one slot, unless there are no slots. */
    run(wanted: Script, keys: readonly string[], args: readonly (RedisArgument | number)[]): Promise<Reply> {
      const rest = [String(keys.length), ...keys, ...args.map((arg) => (typeof arg === 'number' ? String(arg) : arg))]
      return persist(() => evaluate(wanted, keys[0], rest))
    },
    /** A command for the server that has this key, or for any. */
    send: (key: string | undefined, args: readonly RedisArgument[]) => persist(() => adapter.send(key, args)),
    sendToAll: (args: readonly RedisArgument[]) => persist(() => adapter.sendToAll(args)),
    /** Returns the function that ends it. */
    async subscribe(channel: string, listener: () => void): Promise<() => Promise<unknown>> {
      const unsubscribe = await persist(() => adapter.subscribe(channel, listener))
      // A connection that is gone listens no more.
      return () => unsubscribe().catch(() => {})
    },
    /** What still waits for the connection waits no longer: a process that ends need not stay for it. */
    end(): void {
      ended = true
    },
  }
}
