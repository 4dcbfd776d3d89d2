/** What the store needs of a client, whichever it is. */

export type RedisArgument = string | Buffer

/** A reply whose texts are bytes. */
export type Reply = Buffer | string | number | bigint | boolean | null | undefined | readonly Reply[] | object

export interface Adapter {
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
  subscribe(channel: string, listener: () => void): Promise<() => Promise<unknown>>
  /** Its last error: why it is not ready. */
  lastError(): unknown
}

/** The last error of a client. Without a listener for them it may end the process, long after a store on it was closed. */
export function keepLastError(client: {
  on(event: 'error', listener: (error: unknown) => void): unknown
}): () => unknown {
  let last: unknown
  client.on('error', (error) => {
    last = error
  })
  return () => last
}

/** Connects a client that nobody has connected; returns the function that closes it then. */
export function connectIdle(adapter: Adapter): () => Promise<void> {
  if (!adapter.isIdle()) return async () => {}
  // It may take longer than anybody waits; the commands wait for it in time.
  adapter.connect().catch(() => {})
  return () => adapter.disconnect()
}
