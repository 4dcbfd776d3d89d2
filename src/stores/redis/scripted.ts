/** Keeps a client connected, and runs scripts by their digests within a time limit. */
import { createHash } from 'node:crypto'
import { pause, systemClock, withDeadline } from '../../runtime/clock.ts'
import { isError } from '../../runtime/values.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { keepConnected, type Adapter, type RedisArgument, type Reply } from './clients/connection.ts'
import { cleanError, integer, isPassing, RedisError } from './replies.ts'

type Script = ReturnType<typeof script>

export function script(text: string) {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

export type Scripted = ReturnType<typeof createScripted>

/** How many replicas must confirm a write or read, and how long to wait for them. */
export interface Replicas {
  readonly count: number
  readonly withinMs: number
}

/** How often to check whether the connection is back. */
const LOOK_EVERY_MS = 20

interface ScriptedOptions {
  readonly timeoutMs: number
  readonly replicas?: Replicas | undefined
  /** Called once whenever the application's own client has ended. */
  readonly report?: (error: MessagingWebhooksError) => void
}

/** Calls reject with `store_slow`, `store_failed`, `store_client_ended`, or the refusal of Redis. */
export function createScripted(adapter: Adapter, { timeoutMs, replicas, report }: ScriptedOptions) {
  const clock = systemClock()
  const connection = keepConnected(adapter, () => report?.(clientEnded()))
  let ended = false

  /**
   * Every command is safe to repeat, so it is sent again if its connection broke while a caller still waits. It waits here and
   * not in the client's queue: a command without a waiting caller must not be sent later.
   */
  async function persist<T>(send: () => Promise<T>): Promise<T> {
    let over = false
    let passing: unknown

    async function sent(): Promise<T> {
      for (;;) {
        if (adapter.isReady()) {
          try {
            return await send()
          } catch (error) {
            if (over || ended || !isPassing(error)) throw error
            passing = error
          }
        } else if (over || ended) throw new MessagingWebhooksError('store_slow')
        if (connection.hasEnded()) throw clientEnded()
        await pause(clock, LOOK_EVERY_MS)
      }
    }

    const answer = sent()
    try {
      return await withDeadline(clock, timeoutMs, answer, () => {
        over = true
        // The client may settle it later, or never.
        answer.catch(() => {})
        const [did, cause] = adapter.isReady()
          ? ['did not answer', passing]
          : ['could not be reached', adapter.lastError()]
        throw new MessagingWebhooksError('store_slow', `Redis ${did} within ${timeoutMs} ms.`, causedBy(cause))
      })
    } catch (error) {
      throw cleanError(error)
    }
  }

  function clientEnded(): MessagingWebhooksError {
    return new MessagingWebhooksError('store_client_ended', undefined, causedBy(adapter.lastError()))
  }

  async function known<T>(
    { sha, text }: Script,
    send: (command: 'EVALSHA' | 'EVAL', script: string) => Promise<T>,
  ): Promise<T> {
    try {
      return await send('EVALSHA', sha)
    } catch (error) {
      if (!isError(error) || !error.message.startsWith('NOSCRIPT')) throw error
      return send('EVAL', text)
    }
  }

  function evaluate(wanted: Script, key: string | undefined, rest: readonly RedisArgument[]): Promise<Reply> {
    return known(wanted, (command, script) => adapter.send(key, [command, script, ...rest]))
  }

  const restOf = (keys: readonly string[], args: readonly (RedisArgument | number)[]): readonly RedisArgument[] => [
    String(keys.length),
    ...keys,
    ...args.map((arg) => (typeof arg === 'number' ? String(arg) : arg)),
  ]

  return {
    replicas,
    /** In a cluster, all `keys` must be in one slot. */
    run: (wanted: Script, keys: readonly string[], args: readonly (RedisArgument | number)[]): Promise<Reply> =>
      persist(() => evaluate(wanted, keys[0], restOf(keys, args))),
    /**
     * Like `run`, and rejects if too few replicas confirm the writes up to and including those of this script. `WAIT` knows only
     * the writes of its own connection, so the script must write on each call.
     */
    async runConfirmed(
      wanted: Script,
      keys: readonly [string, ...string[]],
      args: readonly (RedisArgument | number)[],
      { count, withinMs }: Replicas,
    ): Promise<Reply> {
      const [key] = keys
      const wait = ['WAIT', String(count), String(withinMs)]
      const send = (...command: readonly RedisArgument[]) =>
        adapter.sendTogether(key, [[...command, ...restOf(keys, args)], wait])
      const [reply, confirmed] = await persist(() => known(wanted, (name, body) => send(name, body)))
      const have = integer(confirmed)
      if (have >= count) return reply
      throw new MessagingWebhooksError(
        'store_failed',
        `${have} of ${count} replicas confirmed a write within ${withinMs} ms (waitReplicas).`,
      )
    },
    /** Sends a command to the server of this key, or to any server. */
    send: (key: string | undefined, args: readonly RedisArgument[]) => persist(() => adapter.send(key, args)),
    sendToAll: (args: readonly RedisArgument[]) => persist(() => adapter.sendToAll(args)),
    /** Returns a function that ends the subscription. */
    async subscribe(channel: string, listener: () => void): Promise<() => void> {
      const unsubscribe = await persist(() => adapter.subscribe(channel, listener))
      // A closed connection no longer listens, and its client may never settle this.
      return () => void unsubscribe().catch(() => {})
    },
    /** Ends all waits for the connection, so that the process can exit, and closes a client that this connected. */
    async end(): Promise<void> {
      await connection.close()
      ended = true
    },
  }
}

const causedBy = (error: unknown): ErrorOptions => (error === undefined ? {} : { cause: new RedisError(error) })
