/** The engines that several processes can share, by name: their servers, and the stores on them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasMysql, startMysql } from './mysql.ts'
import { postgresPrograms, startPostgres } from './postgres.ts'
import { hasRedis, startRedis } from './redis.ts'
import type { Env } from './own-server.ts'
import type { StoreSpec } from './store-spec.ts'

/** A server for stores that can be stopped and restarted. */
export interface EngineServer {
  /** Undefined for an engine without a port. */
  readonly port: number | undefined
  readonly password: string | undefined
  /** A separate store on the server; `port` of a proxy in front of the server. */
  spec(name: string, options?: { readonly port?: number }): StoreSpec
  /** The same store through each supported client. */
  specs(name: string): readonly StoreSpec[]
  start(): Promise<void>
  stop(): Promise<void>
  remove(): Promise<void>
}

interface Engine {
  readonly name: StoreSpec['engine']
  /** Why the engine cannot run on this machine. */
  missing(): string | undefined
  /** `env`: further variables of the server's environment. */
  start(env?: Env): Promise<EngineServer>
}

export const SQLITE: Engine = {
  name: 'sqlite',
  missing: () => undefined,
  async start() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-'))
    const spec = (name: string): StoreSpec => ({ engine: 'sqlite', url: join(folder, `${name}.db`), name })
    return {
      port: undefined,
      password: undefined,
      spec,
      specs: (name) => [spec(name)],
      async start() {},
      async stop() {},
      async remove() {
        rmSync(folder, { recursive: true, force: true })
      },
    }
  },
}

export const POSTGRES: Engine = {
  name: 'postgres',
  missing: () => (postgresPrograms() === undefined ? 'Postgres is not installed' : undefined),
  async start(env) {
    const server = await startPostgres({ env })
    const spec: EngineServer['spec'] = (name, options) => ({ engine: 'postgres', url: server.url(options), name })
    return { ...server, spec, specs: (name) => [spec(name)] }
  },
}

export const MYSQL: Engine = {
  name: 'mysql',
  missing: () => (hasMysql() ? undefined : 'MariaDB is not installed'),
  async start(env) {
    const server = await startMysql({ env })
    const spec: EngineServer['spec'] = (name, options) => ({ engine: 'mysql', url: server.url(options), name })
    return { ...server, spec, specs: (name) => [spec(name)] }
  },
}

export const REDIS: Engine = {
  name: 'redis',
  missing: () => (hasRedis() ? undefined : 'redis-server is not installed'),
  async start(env) {
    const server = await startRedis({ env })
    const spec: EngineServer['spec'] = (name, options) => ({ engine: 'redis', url: server.url(options), name })
    return { ...server, spec, specs: (name) => [spec(name), { ...spec(name), client: 'ioredis' }] }
  },
}
