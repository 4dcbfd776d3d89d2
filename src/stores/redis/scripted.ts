/** Runs scripts by their digests, in time, and sends a script where the server does not know it (any more). */
import { createHash } from 'node:crypto'
import { withDeadline, type Clock } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Adapter, RedisArgument, Reply } from './clients/connection.ts'
import { cleanError, isPassing, isUnknownScript, withoutArguments } from './replies.ts'

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
  /** A command for the server that has this key. */
  send(key: string, args: readonly RedisArgument[]): Promise<Reply>
  /** A command for any server. */
  ask(args: readonly RedisArgument[]): Promise<Reply>
  askAll(args: readonly RedisArgument[]): Promise<readonly Reply[]>
  /** What still waits for the connection waits no longer: a process that ends need not stay for it. */
  end(): void
}

/** How often to look whether the connection is back. */
const LOOK_EVERY_MS = 20

/** `gives up` is for who looks once: it does not wait for a server that has refused it. */
export function createScripted(
  adapter: Adapter,
  clock: Clock,
  timeoutMs: number,
  whenRefused: 'waits' | 'gives up' = 'waits',
): Scripted {
  let ended = false

  async function inTime<T>(work: (isOver: () => boolean) => Promise<T>): Promise<T> {
    let over = false
    const answer = work(() => over || ended)
    try {
      return await withDeadline(clock, timeoutMs, answer, () => {
        over = true
        // A client may settle it later, or never.
        answer.catch(() => {})
        if (adapter.isReady())
          throw new MessagingWebhooksError('store_slow', `Redis did not answer within ${timeoutMs} ms.`)
        throw unreachable(` within ${timeoutMs} ms`)
      })
    } catch (error) {
      throw cleanError(error)
    }
  }

  function unreachable(when = ''): MessagingWebhooksError {
    const cause = adapter.lastError === undefined ? undefined : withoutArguments(adapter.lastError)
    return new MessagingWebhooksError('store_slow', `Redis could not be reached${when}.`, { cause })
  }

  /** Waits here and not in the client's queue: what nobody waits for any more must not be sent later. */
  async function untilReady(isOver: () => boolean): Promise<void> {
    while (!adapter.isReady()) {
      if (isOver()) throw new MessagingWebhooksError('store_slow')
      if (whenRefused === 'gives up' && adapter.lastError !== undefined) throw unreachable()
      await pause()
    }
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => void clock.setTimer(resolve, LOOK_EVERY_MS, true))
  }

  /** Every command may run twice, so one whose connection broke is sent again as long as somebody waits for it. */
  function persist<T>(send: () => Promise<T>): Promise<T> {
    return inTime(async (isOver) => {
      for (;;) {
        if (!adapter.isReady()) await untilReady(isOver)
        try {
          return await send()
        } catch (error) {
          if (isOver() || !isPassing(error)) throw error
        }
        await pause()
      }
    })
  }

  async function evaluate({ sha, text }: Script, key: string, rest: readonly RedisArgument[]): Promise<Reply> {
    try {
      return await adapter.send(key, ['EVALSHA', sha, ...rest])
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return adapter.send(key, ['EVAL', text, ...rest])
    }
  }

  return {
    isCluster: adapter.isCluster,
    run(wanted, keys, args) {
      const rest = [String(keys.length), ...keys, ...args.map((arg) => (typeof arg === 'number' ? String(arg) : arg))]
      return persist(() => evaluate(wanted, keys[0], rest))
    },
    send: (key, args) => persist(() => adapter.send(key, args)),
    ask: (args) => persist(() => adapter.send(undefined, args)),
    askAll: (args) => persist(() => adapter.sendToAll(args)),
    end() {
      ended = true
    },
  }
}
