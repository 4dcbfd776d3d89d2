/** A Redis for one test, with a password, on loopback, which syncs what it has confirmed to its disk. */
import { spawnSync } from 'node:child_process'
import { freePort } from '../free-port.ts'
import { ownServer, serverFolder, type Env, type OwnServer } from './own-server.ts'

export const REDIS_PASSWORD = 'p@ss:w/rd?of=the#redis'

export interface RedisServer extends OwnServer {
  readonly port: number
  readonly password: string
  /** Includes the password; `port` of a proxy in front of it. */
  url(options?: { readonly port?: number }): string
}

export function hasRedis(): boolean {
  return spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0
}

/** Creates and starts it. `settings` go on the server's command line. */
export async function startRedis({
  settings = {},
  env,
}: {
  readonly settings?: Readonly<Record<string, string>>
  readonly env?: Env | undefined
} = {}): Promise<RedisServer> {
  const folder = serverFolder('redis')
  const port = await freePort()
  const all = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    requirepass: REDIS_PASSWORD,
    ...settings,
  }
  const server = ownServer({
    folder,
    command: 'redis-server',
    args: Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]),
    ready: 'Ready to accept connections',
    stopSignal: 'SIGKILL',
    env,
  })
  await server.start()
  return {
    ...server,
    port,
    password: REDIS_PASSWORD,
    url: (options = {}) => `redis://default:${encodeURIComponent(REDIS_PASSWORD)}@127.0.0.1:${options.port ?? port}`,
  }
}
