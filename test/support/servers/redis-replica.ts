/** A replica of a Redis, and a Sentinel that watches both and promotes the replica. */
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { notRoot, ownServer, serverFolder, type OwnServer } from './own-server.ts'
import { REDIS_PASSWORD, startRedis, type RedisServer } from './redis.ts'

/** Settings of each server that may be a primary or a replica. */
export const REPLICABLE: Readonly<Record<string, string>> = {
  masterauth: REDIS_PASSWORD,
  'repl-diskless-sync-delay': '0',
  'repl-ping-replica-period': '1',
}

/** A replica, ready once it has copied everything. `settings` as for the primary. */
export async function startReplica(
  { port }: RedisServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  return startRedis({ settings: { ...REPLICABLE, ...settings, replicaof: `127.0.0.1 ${port}` } })
}

/** The name by which clients ask a Sentinel for the primary. */
export const SENTINEL_NAME = 'primary'

/** `DOWN_MS`: how long a primary may be silent. `FAILOVER_MS`: how long Sentinel leaves a replica that follows through a proxy unchanged. */
const DOWN_MS = 1_000
export const FAILOVER_MS = 60_000

interface Sentinel extends OwnServer {
  readonly port: number
}

/** A Sentinel with a quorum of one. */
export async function startSentinel({ port: primaryPort, password }: RedisServer): Promise<Sentinel> {
  const folder = serverFolder('sentinel')
  const port = await freePort()
  const config = join(folder, 'sentinel.conf')
  // Sentinel writes its state into this file.
  writeFileSync(
    config,
    `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primaryPort} 1
sentinel auth-pass ${SENTINEL_NAME} ${password}
sentinel down-after-milliseconds ${SENTINEL_NAME} ${DOWN_MS}
sentinel failover-timeout ${SENTINEL_NAME} ${FAILOVER_MS}
`,
  )
  const { uid, gid } = notRoot()
  if (uid !== undefined && gid !== undefined) chownSync(config, uid, gid)
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
