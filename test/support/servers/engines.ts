/** The engines that several processes share, by name: their servers, and the stores on them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasMysql, startMysql } from './mysql.ts'
import { postgresPrograms, startPostgres } from './postgres.ts'
import { hasRedis, startRedis } from './redis.ts'
import type { StoreSpec } from './store-spec.ts'

/** A place for stores that can be stopped and started again. */
export interface EngineServer {
  /** Undefined for what has no port. */
  readonly port: number | undefined
  readonly password: string | undefined
  /** A store of its own there; `port` for one that stands in front of the server. */
  spec(name: string, options?: { readonly port?: number }): StoreSpec
  /** The same store by every client that can be used for it. */
  specs(name: string): readonly StoreSpec[]
  start(): Promise<void>
  stop(): Promise<void>
  remove(): Promise<void>
}

interface Engine {
  readonly name: StoreSpec['engine']
  /** Why it cannot be had here. */
  missing(): string | undefined
  start(): Promise<EngineServer>
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
  missing: () => (postgresPrograms() === undefined ? 'there is no Postgres on this machine' : undefined),
  async start() {
    const server = await startPostgres()
    const spec: EngineServer['spec'] = (name, options) => ({ engine: 'postgres', url: server.url(options), name })
    return { ...server, spec, specs: (name) => [spec(name)] }
  },
}

export const MYSQL: Engine = {
  name: 'mysql',
  missing: () => (hasMysql() ? undefined : 'there is no MariaDB on this machine'),
  async start() {
    const server = await startMysql()
    const spec: EngineServer['spec'] = (name, options) => ({ engine: 'mysql', url: server.url(options), name })
    return { ...server, spec, specs: (name) => [spec(name)] }
  },
}

export const REDIS: Engine = {
  name: 'redis',
  missing: () => (hasRedis() ? undefined : 'there is no redis-server on this machine'),
  async start() {
    const server = await startRedis()
    const spec: EngineServer['spec'] = (name, options) => ({ engine: 'redis', url: server.url(options), name })
    return { ...server, spec, specs: (name) => [spec(name), { ...spec(name), client: 'ioredis' }] }
  },
}
