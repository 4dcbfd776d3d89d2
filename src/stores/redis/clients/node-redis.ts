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

interface ClusterNode {
  readonly client?: unknown
}

/** A client made by `createCluster()`. */
export interface NodeRedisCluster extends Common {
  readonly masters: readonly ClusterNode[]
  readonly replicas: readonly ClusterNode[]
  readonly pubSubNode?: ClusterNode | undefined
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
  const sends = 'withTypeMapping' in client && ('isReady' in client || 'masters' in client)
  // Exclude a sentinel client, which takes commands in another form.
  return sends && !('acquire' in client)
}

/** The major version of a client of an older `redis`, whose replies cannot be read as bytes. */
export function oldNodeRedis(client: object): '3' | '4' | undefined {
  if (!('sendCommand' in client) || 'withTypeMapping' in client) return undefined
  return 'isOpen' in client ? '4' : '3'
}

export function nodeRedis(client: NodeRedisClient | NodeRedisCluster): Adapter {
  return {
    isCluster: 'masters' in client,
    ...('masters' in client ? ofCluster(client) : ofOne(client)),
    async subscribe(channel, listener) {
      await client.subscribe(channel, listener)
      return () => client.unsubscribe(channel, listener)
    },
    lastError: keepLastError(client),
    duplicate: () => nodeRedis(client.duplicate()),
  }
}

type OfOneOrCluster = Omit<Adapter, 'isCluster' | 'subscribe' | 'lastError' | 'duplicate'>

function ofOne(client: NodeRedisClient): OfOneOrCluster {
  const send = async (args: readonly RedisArgument[]): Promise<Reply> =>
    (await client.sendCommand(args, AS_BYTES)) as Reply
  return {
    isReady: () => client.isReady,
    isIdle: () => !client.isOpen,
    connect: () => client.connect(),
    async disconnect() {
      if (client.isOpen) await client.destroy()
    },
    send: (_key, args) => send(args),
    async sendTogether(_key, commands) {
      const pipeline = client.withTypeMapping(AS_BYTES.typeMapping).multi()
      for (const args of commands) pipeline.addCommand([...args])
      return (await pipeline.execAsPipeline()) as readonly Reply[]
    },
    sendToAll: async (args) => [await send(args)],
  }
}

function ofCluster(cluster: NodeRedisCluster): OfOneOrCluster {
  const send = async (key: string | undefined, args: readonly RedisArgument[]): Promise<Reply> =>
    (await cluster.sendCommand(key, false, [...args], AS_BYTES)) as Reply
  /** Nodes that stopped reconnecting. The client of the cluster never connects them again. */
  const endedNodes = () => clientsOf([...cluster.masters, cluster.pubSubNode]).filter(({ isOpen }) => !isOpen)
  return {
    // `isOpen` is true before the client knows the nodes. If a node becomes unavailable later, its commands time out.
    isReady: () => cluster.isOpen && cluster.masters.length > 0,
    isIdle: () => !cluster.isOpen || endedNodes().length > 0,
    connect: () => (cluster.isOpen ? Promise.all(endedNodes().map((node) => node.connect())) : cluster.connect()),
    async disconnect() {
      const nodes = clientsOf([...cluster.masters, ...cluster.replicas, cluster.pubSubNode])
      try {
        if (cluster.isOpen) await cluster.destroy()
      } catch {
        // It throws at the first node that has ended, and leaves the others connected.
        for (const node of nodes) if (node.isOpen) node.destroy()
      }
    },
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
    sendToAll: (args) => Promise.all(clientsOf(cluster.masters).map((client) => ofOne(client).send(undefined, args))),
  }
}

function clientsOf(nodes: readonly (ClusterNode | undefined)[]): readonly NodeRedisClient[] {
  return nodes.flatMap((node) => {
    const client = node?.client
    return typeof client === 'object' && client !== null && isNodeRedis(client) && !('masters' in client)
      ? [client]
      : []
  })
}
