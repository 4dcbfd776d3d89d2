/** Adapter for the package `redis` (node-redis 5), single or cluster. Recognised by shape; the package is not imported. */
import { followingSlots, keepLastError, type Adapter, type RedisArgument, type Reply } from './connection.ts'

/** `RESP_TYPES.BLOB_STRING`: return texts as bytes. */
const AS_BYTES = { typeMapping: { 36: Buffer } } as const

interface Common {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  destroy(): unknown
  subscribe(channel: string, listener: () => void): Promise<unknown>
  unsubscribe(channel: string, listener: () => void): Promise<unknown>
  on(event: 'error', listener: (error: unknown) => void): unknown
}

interface Pipeline<Args extends readonly unknown[]> {
  addCommand(...args: Args): unknown
  /** Uses one connection: if it breaks, the rest is not sent on another one. */
  execAsPipeline(): Promise<readonly unknown[]>
}

/** A client made by `createClient()`. */
export interface NodeRedisClient extends Common {
  readonly isReady: boolean
  duplicate(): NodeRedisClient
  sendCommand(args: readonly RedisArgument[], options?: object): Promise<unknown>
  withTypeMapping(mapping: typeof AS_BYTES.typeMapping): { multi(): Pipeline<[args: RedisArgument[]]> }
}

/** A client made by `createCluster()`. */
export interface NodeRedisCluster extends Common {
  readonly masters: readonly { readonly client?: unknown }[]
  duplicate(): NodeRedisCluster
  sendCommand(
    firstKey: RedisArgument | undefined,
    isReadonly: boolean | undefined,
    args: RedisArgument[],
    options?: object,
  ): Promise<unknown>
  withTypeMapping(mapping: typeof AS_BYTES.typeMapping): {
    multi(): Pipeline<[firstKey: RedisArgument | undefined, isReadonly: boolean | undefined, args: RedisArgument[]]>
  }
}

export function isNodeRedis(client: object): client is NodeRedisClient | NodeRedisCluster {
  const sends = 'sendCommand' in client && 'isOpen' in client && ('isReady' in client || 'masters' in client)
  // Exclude a sentinel client, which takes commands in another form.
  return sends && !('acquire' in client)
}

export function nodeRedis(client: NodeRedisClient | NodeRedisCluster): Adapter {
  return {
    isCluster: 'masters' in client,
    ...('masters' in client ? ofCluster(client) : ofOne(client)),
    isIdle: () => !client.isOpen,
    connect: () => client.connect(),
    async disconnect() {
      if (client.isOpen) await client.destroy()
    },
    async subscribe(channel, listener) {
      await client.subscribe(channel, listener)
      return () => client.unsubscribe(channel, listener)
    },
    lastError: keepLastError(client),
    duplicate: () => nodeRedis(client.duplicate()),
  }
}

type Sending = Pick<Adapter, 'send' | 'sendTogether' | 'sendToAll' | 'isReady'>

function ofOne(client: NodeRedisClient): Sending {
  const send = async (args: readonly RedisArgument[]): Promise<Reply> =>
    (await client.sendCommand(args, AS_BYTES)) as Reply
  return {
    isReady: () => client.isReady,
    send: (_key, args) => send(args),
    async sendTogether(_key, commands) {
      const pipeline = client.withTypeMapping(AS_BYTES.typeMapping).multi()
      for (const args of commands) pipeline.addCommand([...args])
      return (await pipeline.execAsPipeline()) as readonly Reply[]
    },
    sendToAll: async (args) => [await send(args)],
  }
}

function ofCluster(cluster: NodeRedisCluster): Sending {
  const send = async (key: string | undefined, args: readonly RedisArgument[]): Promise<Reply> =>
    (await cluster.sendCommand(key, false, [...args], AS_BYTES)) as Reply
  return {
    // `isOpen` is true before the client knows the nodes. If a node becomes unavailable later, its commands time out.
    isReady: () => cluster.isOpen && cluster.masters.length > 0,
    async send(key, args) {
      try {
        return await send(key, args)
      } catch (error) {
        if (key === undefined || !(error instanceof TypeError)) throw error
        // The client read the slots before the cluster had assigned this one, and fails on the gap (node-redis issue 2704). A
        // MOVED reply of any server makes it read them again.
        return send(undefined, args)
      }
    },
    sendTogether: followingSlots(async (key, commands) => {
      const pipeline = cluster.withTypeMapping(AS_BYTES.typeMapping).multi()
      for (const args of commands) pipeline.addCommand(key, false, [...args])
      return (await pipeline.execAsPipeline()) as readonly Reply[]
    }, send),
    sendToAll: (args) =>
      Promise.all(
        cluster.masters.map(async ({ client }) => {
          const node: unknown = await client
          if (typeof node !== 'object' || node === null || !isNodeRedis(node) || 'masters' in node) return undefined
          return ofOne(node).send(undefined, args)
        }),
      ),
  }
}
