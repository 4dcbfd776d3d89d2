/** Looks at what is on a server already, for tools that are told no more than an address; enters nothing. */
import { systemClock } from '../../clock.ts'
import { adapterOf, type RedisClient } from './clients/adapter-of.ts'
import { integer, list, text } from './replies.ts'
import { createScripted, script, type Scripted } from './scripted.ts'

const TIMEOUT_MS = 4_000

/** Whether the server is one of a cluster, so that it needs a client that knows the others. Rejects at once where it is refused. */
export function isOfCluster(client: RedisClient): Promise<boolean> {
  return connected(
    client,
    async (redis) => text(await redis.ask(['INFO', 'cluster'])).includes('cluster_enabled:1'),
    'gives up',
  )
}

/** How many partitions the store of this prefix was made with; undefined where there is none. */
export function findPartitions(client: RedisClient, prefix: string): Promise<number | undefined> {
  return connected(client, async (redis) => {
    const [, partitions] = list(await redis.run(findLayout, [`${prefix}:layout`], []))
    return partitions === null || partitions === undefined ? undefined : integer(partitions)
  })
}

/** Connects a client that nobody has connected, and closes it again. */
async function connected<T>(
  client: RedisClient,
  work: (redis: Scripted) => Promise<T>,
  whenRefused: 'waits' | 'gives up' = 'waits',
): Promise<T> {
  const adapter = adapterOf(client, 'client')
  adapter.ignoreErrors()
  const isIdle = adapter.isIdle()
  // The command waits for it, in time.
  if (isIdle) adapter.connect().catch(() => {})
  try {
    return await work(createScripted(adapter, systemClock(), TIMEOUT_MS, whenRefused))
  } finally {
    if (isIdle) await adapter.disconnect()
  }
}

/** Reads the layout of the keys under a prefix. KEYS[1]: where it stands. Returns version and partitions, or nothing twice. */
const findLayout = script(/* lua */ `
return redis.call('HMGET', KEYS[1], 'version', 'partitions')
`)
