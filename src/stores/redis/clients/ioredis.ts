/** Adapter for the package `ioredis` 4 and 5, single or cluster. Recognised by shape; the package is not imported. */
import { followingSlots, keepLastError, type Adapter, type RedisArgument, type Reply } from './connection.ts'

interface Common {
  readonly status: string
  connect(): Promise<unknown>
  disconnect(): void
  createBuiltinCommand(command: string): { buffer(args: readonly RedisArgument[]): Promise<unknown> }
  pipeline(): Pipeline
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'message', listener: (channel: string) => void): unknown
  once(event: 'end', listener: () => void): unknown
  off(event: 'message', listener: (channel: string) => void): unknown
}

interface Pipeline {
  callBuffer(command: string, args: (string | Buffer | number)[]): unknown
  exec(): Promise<[error: Error | null, result: unknown][] | null>
}

/** A client made by `new Redis()`. */
export type IoredisClient = Common & {
  duplicate(options: typeof LAZY): IoredisClient
}

/** A client made by `new Cluster()`. */
export type IoredisCluster = Common & {
  nodes(role: 'master'): readonly Common[]
  duplicate(nodes: [], options: typeof LAZY): IoredisCluster
}

const LAZY = { lazyConnect: true } as const

export function isIoredis(client: object): client is IoredisClient | IoredisCluster {
  return 'callBuffer' in client && 'status' in client
}

/** A cluster client may stay `close`, after it has ended. */
const IDLE: readonly string[] = ['wait', 'close', 'end']
const CONNECTED: readonly string[] = ['connecting', 'connect', 'ready']

export function ioredis(client: IoredisClient | IoredisCluster): Adapter {
  let stopped = false
  const send = async (target: Common, args: readonly RedisArgument[]): Promise<Reply> => {
    const [command, ...rest] = args
    // Not `callBuffer`: with `enableAutoPipelining`, ioredis loses the name of its command and throws outside any promise.
    return (await target.createBuiltinCommand(String(command)).buffer.call(target, rest)) as Reply
  }
  /** The client does not send the rest of a pipeline again after its connection broke. */
  const sendTogether = async (
    _key: string,
    commands: readonly (readonly RedisArgument[])[],
  ): Promise<readonly Reply[]> => {
    const pipeline = client.pipeline()
    for (const [command, ...rest] of commands) pipeline.callBuffer(String(command), rest)
    const results = (await pipeline.exec()) ?? []
    return results.map(([error, reply]) => {
      if (error !== null) throw error
      return reply as Reply
    })
  }
  return {
    isCluster: 'nodes' in client,
    isReady: () => client.status === 'ready',
    isIdle: () => stopped || IDLE.includes(client.status),
    connect() {
      stopped = false
      return client.connect()
    },
    async disconnect() {
      stopped = true
      const willEnd = CONNECTED.includes(client.status)
      // Until `end`, the client looks connected and cannot connect again. Between two attempts it emits no `end`.
      const ended = willEnd ? new Promise<void>((resolve) => void client.once('end', resolve)) : undefined
      client.disconnect()
      await ended
    },
    // The cluster client routes by key itself.
    send: (_key, args) => send(client, args),
    sendTogether: 'nodes' in client ? followingSlots(sendTogether, (_key, args) => send(client, args)) : sendTogether,
    sendToAll: (args) =>
      Promise.all(('nodes' in client ? client.nodes('master') : [client]).map((one) => send(one, args))),
    async subscribe(channel, listener) {
      const onMessage = (on: string): void => {
        if (on === channel) listener()
      }
      await client.subscribe(channel)
      client.on('message', onMessage)
      return () => {
        client.off('message', onMessage)
        return client.unsubscribe(channel)
      }
    },
    lastError: keepLastError(client),
    duplicate: () => ioredis('nodes' in client ? client.duplicate([], LAZY) : client.duplicate(LAZY)),
  }
}
