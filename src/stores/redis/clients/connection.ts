/** The operations that the store needs of a client of either package. */
import { isError } from '../../../runtime/values.ts'
import { watch } from '../../watch.ts'

export type RedisArgument = string | Buffer

/** A reply. Its texts are bytes. */
export type Reply = Buffer | string | number | bigint | boolean | null | undefined | readonly Reply[] | object

export interface Adapter {
  /** In a cluster, keys of different slots cannot share a command. */
  readonly isCluster: boolean
  /** False while the client would queue a command for lack of a connection. */
  isReady(): boolean
  /** True before `connect` is called, and after the client has ended: it was closed, or stopped reconnecting. */
  isIdle(): boolean
  connect(): Promise<unknown>
  disconnect(): Promise<void>
  /** Sends a command to the server of `key`, or to any server. */
  send(key: string | undefined, args: readonly RedisArgument[]): Promise<Reply>
  /**
   * Sends commands to the server of `key`, all on one connection: if it breaks in between, the rest is not sent on another one.
   * Rejects with the first error.
   */
  sendTogether(key: string, commands: readonly (readonly RedisArgument[])[]): Promise<readonly Reply[]>
  /** Sends a command to each server that accepts writes. */
  sendToAll(args: readonly RedisArgument[]): Promise<readonly Reply[]>
  /** Returns a function that ends the subscription. */
  subscribe(channel: string, listener: () => void): Promise<() => Promise<unknown>>
  /** The last error of the client: the reason why it is not ready. */
  lastError(): unknown
  /** A client with the same settings, not connected. */
  duplicate(): Adapter
}

/** Keeps the last error of a client. Without a listener for errors the process may exit, long after the store was closed. */
export function keepLastError(client: {
  on(event: 'error', listener: (error: unknown) => void): unknown
}): () => unknown {
  let last: unknown
  client.on('error', (error) => {
    last = error
  })
  return () => last
}

/**
 * Wraps `sendTogether` for a cluster. The client follows redirections, and reads the slots again, for single commands only. So
 * this sends a single command after a redirection, and the caller may repeat its commands.
 */
export function followingSlots(sendTogether: Adapter['sendTogether'], send: Adapter['send']): Adapter['sendTogether'] {
  return async (key, commands) => {
    try {
      return await sendTogether(key, commands)
    } catch (error) {
      if (!isError(error) || !/^(MOVED|ASK)\b/.test(error.message)) throw error
      await send(key, ['EXISTS', key])
      throw new Error('TRYAGAIN The slot of the key has moved.', { cause: error })
    }
  }
}

/** How often to check whether a client has ended. */
const LOOK_EVERY_MS = 1_000

/**
 * Connects a client that is not connected, and again whenever it has ended. A client that is connected stays the application's:
 * `onEnded` is called when it has ended.
 */
export function keepConnected(adapter: Adapter, onEnded: () => void) {
  const isOwn = adapter.isIdle()
  let wasIdle = isOwn

  function connect(): void {
    // Connecting may take longer than any caller waits. Commands wait for it within their time limits.
    adapter.connect().catch(() => {})
  }

  if (isOwn) connect()
  const stop = watch(
    LOOK_EVERY_MS,
    () => Promise.resolve(adapter.isIdle()),
    (isIdle) => {
      if (isIdle && isOwn) connect()
      else if (isIdle && !wasIdle) onEnded()
      wasIdle = isIdle
    },
  )
  return {
    /** Whether the client has ended and only the application may connect it. */
    hasEnded: () => !isOwn && adapter.isIdle(),
    async close(): Promise<void> {
      stop()
      if (isOwn) await adapter.disconnect()
    },
  }
}
