/** What the store needs of a client, whichever it is. */

export type RedisArgument = string | Buffer

/** A reply whose texts are bytes. */
export type Reply = Buffer | string | number | bigint | boolean | null | undefined | readonly Reply[] | object

export interface Adapter {
  readonly name: 'redis' | 'ioredis'
  /** Keys of different slots cannot be asked for in one command. */
  readonly isCluster: boolean
  /** False while a command would wait in the client for a connection. */
  isReady(): boolean
  /** True while nobody has asked it to connect. */
  isIdle(): boolean
  connect(): Promise<unknown>
  disconnect(): Promise<void>
  /** Sends a command to the server that has `key`, or to any where it is undefined. */
  send(key: string | undefined, args: readonly RedisArgument[]): Promise<Reply>
  /** Sends a command to each server that takes writes. */
  sendToAll(args: readonly RedisArgument[]): Promise<readonly Reply[]>
  /** Returns the function that ends it. */
  subscribe(channel: string, listener: () => void): Promise<() => Promise<void>>
  /** Without a listener for its errors a client may end the process, long after a store on it was closed. Harmless twice. */
  ignoreErrors(): void
  /** The last of them: why it is not ready. */
  readonly lastError: unknown
}
