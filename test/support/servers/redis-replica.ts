/** Replicas of a Redis, and Sentinels that watch it and promote one of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { ownServer, serverFolder, type OwnServer } from './own-server.ts'
import { REDIS_PASSWORD, startRedis, type RedisServer } from './redis.ts'

/** Settings of each server that may be a primary or a replica. */
export const REPLICABLE: Readonly<Record<string, string>> = {
  masterauth: REDIS_PASSWORD,
  'repl-diskless-sync-delay': '0',
  'repl-ping-replica-period': '1',
}

/** A replica, which copies everything before it says that it is one. `settings` as for the primary. */
export async function startReplica(
  { port }: RedisServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  return startRedis({ settings: { ...REPLICABLE, ...settings, replicaof: `127.0.0.1 ${port}` } })
}

/** The name by which clients ask Sentinels for the primary. */
export const SENTINEL_NAME = 'primary'

/** How long a primary may be silent. */
const DOWN_MS = 1_000
const FAILOVER_MS = 5_000

interface Sentinel extends OwnServer {
  readonly port: number
}

/** One of several, of which `quorum` must agree. */
export async function startSentinel({ port: primaryPort, password }: RedisServer, quorum: number): Promise<Sentinel> {
  const folder = serverFolder('sentinel')
  const port = await freePort()
  const config = join(folder, 'sentinel.conf')
  // It writes into this file what it learns.
  writeFileSync(
    config,
    `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primaryPort} ${quorum}
sentinel auth-pass ${SENTINEL_NAME} ${password}
sentinel down-after-milliseconds ${SENTINEL_NAME} ${DOWN_MS}
sentinel failover-timeout ${SENTINEL_NAME} ${FAILOVER_MS}
`,
    { mode: 0o666 },
  )
  const server = ownServer({
    folder,
    command: 'redis-server',
    args: [config, '--sentinel'],
    ready: 'Sentinel ID is',
    stopSignal: 'SIGKILL',
  })
  await server.start()
  return { ...server, port }
}
