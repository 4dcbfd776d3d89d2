/** Runs scripts by their digests, in time, and sends a script where the server does not know it (any more). */
import { createHash } from 'node:crypto'
import { withDeadline, type Clock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { Adapter, RedisArgument, Reply } from './clients/connection.ts'
import { cleanError, isUnknownScript } from './server-error.ts'

export interface Script {
  readonly text: string
  readonly sha: string
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

export interface Scripted {
  readonly isCluster: boolean
  /** `keys` are of one slot, unless there are no slots. Rejects with `store_slow`, `store_failed`, or what Redis refused. */
  run(script: Script, keys: readonly [string, ...string[]], args: readonly (RedisArgument | number)[]): Promise<Reply>
  /** A command for any server. */
  ask(args: readonly RedisArgument[]): Promise<Reply>
  askAll(args: readonly RedisArgument[]): Promise<readonly Reply[]>
}

/** How often to look whether the connection is back. */
const LOOK_EVERY_MS = 20

export function createScripted(adapter: Adapter, clock: Clock, timeoutMs: number): Scripted {
  async function inTime<T>(work: (isOver: () => boolean) => Promise<T>): Promise<T> {
    let over = false
    const answer = work(() => over)
    try {
      return await withDeadline(clock, timeoutMs, answer, () => {
        over = true
        // A client may settle it later, or never.
        answer.catch(() => {})
        throw new MessagingWebhooksError('store_slow', `Redis did not answer within ${timeoutMs} ms.`)
      })
    } catch (error) {
      throw cleanError(error)
    }
  }

  /** Waits here and not in the client's queue: what nobody waits for any more must not be sent later. */
  async function untilReady(isOver: () => boolean): Promise<void> {
    while (!adapter.isReady()) {
      if (isOver()) throw new MessagingWebhooksError('store_slow')
      await new Promise<void>((resolve) => void clock.setTimer(resolve, LOOK_EVERY_MS, true))
    }
  }

  function send(key: string | undefined, args: readonly RedisArgument[]): Promise<Reply> {
    return inTime(async (isOver) => {
      if (!adapter.isReady()) await untilReady(isOver)
      return adapter.send(key, args)
    })
  }

  return {
    isCluster: adapter.isCluster,
    run({ sha, text }, keys, args) {
      const rest = [String(keys.length), ...keys, ...args.map((arg) => (typeof arg === 'number' ? String(arg) : arg))]
      return inTime(async (isOver) => {
        if (!adapter.isReady()) await untilReady(isOver)
        try {
          return await adapter.send(keys[0], ['EVALSHA', sha, ...rest])
        } catch (error) {
          if (!isUnknownScript(error) || isOver()) throw error
          return await adapter.send(keys[0], ['EVAL', text, ...rest])
        }
      })
    },
    ask: (args) => send(undefined, args),
    askAll: (args) =>
      inTime(async (isOver) => {
        if (!adapter.isReady()) await untilReady(isOver)
        return adapter.sendToAll(args)
      }),
  }
}
