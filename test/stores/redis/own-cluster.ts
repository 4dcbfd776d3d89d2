/** A cluster for one test file. */
import { afterAll, beforeAll } from 'vitest'
import type { RedisServer } from '../../support/servers/redis.ts'
import { startRedisCluster } from '../../support/servers/redis-cluster.ts'

const STARTING_MS = 120_000

/** Starts it before the tests of a file, and stops it after them. */
export function useCluster(): () => readonly RedisServer[] {
  let nodes: readonly RedisServer[] = []
  beforeAll(async () => {
    nodes = await startRedisCluster()
  }, STARTING_MS)
  afterAll(() => Promise.all(nodes.map((node) => node.remove())), STARTING_MS)
  return () => nodes
}
