/** A cluster for one test file. */
import { afterAll, beforeAll } from 'vitest'
import type { Env } from '../../support/servers/own-server.ts'
import type { RedisServer } from '../../support/servers/redis.ts'
import { startRedisCluster } from '../../support/servers/redis-cluster.ts'

const STARTING_MS = 120_000

/** Starts it before the tests of a file, and stops it after them. `envs`: further variables of each node. */
export function useCluster(envs?: () => readonly Env[]): () => readonly RedisServer[] {
  let nodes: readonly RedisServer[] = []
  beforeAll(async () => {
    nodes = await startRedisCluster({}, envs?.())
  }, STARTING_MS)
  afterAll(() => Promise.all(nodes.map((node) => node.remove())), STARTING_MS)
  return () => nodes
}
