/**
 * Runs a program of this folder on servers of its own, which end with it, one for each store that STORES names (all by default).
 * A server that POSTGRES_URL, MYSQL_URL or REDIS_URL names is used instead.
 *
 *     node bench/on-own-servers.ts server-cost.ts
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { hasMysql, startMysql } from '../test/support/servers/mysql.ts'
import { postgresPrograms, startPostgres } from '../test/support/servers/postgres.ts'
import { hasRedis, startRedis } from '../test/support/servers/redis.ts'
import { chosenStores } from './contenders/shared.ts'

interface Server {
  url(): string
  remove(): Promise<void>
}

/** With memory for the data of a run, and the durability of production. Otherwise their defaults. */
const ENGINES = {
  postgres: {
    variable: 'POSTGRES_URL',
    isHere: () => postgresPrograms() !== undefined,
    start: () => startPostgres({ settings: { shared_buffers: '1GB', max_connections: '300', max_wal_size: '4GB' } }),
  },
  mysql: {
    variable: 'MYSQL_URL',
    isHere: hasMysql,
    start: () =>
      startMysql({
        settings: { 'innodb-buffer-pool-size': '1G', 'innodb-log-file-size': '1G', 'max-connections': '300' },
      }),
  },
  redis: {
    variable: 'REDIS_URL',
    isHere: hasRedis,
    // A rewrite would make the file smaller while it is measured.
    start: () => startRedis({ settings: { appendfsync: 'everysec', 'auto-aof-rewrite-percentage': '0' } }),
  },
} as const

const [, , program = '', ...rest] = process.argv
const env: NodeJS.ProcessEnv = { ...process.env }
const servers: Server[] = []
// The terminal sends it to the program as well; its end removes the servers.
process.on('SIGINT', () => {})
try {
  for (const store of chosenStores()) {
    if (store === 'sqlite') continue
    const { variable, isHere, start } = ENGINES[store]
    if (env[variable] !== undefined) continue
    if (!isHere()) throw new Error(`No server of ${store} is installed; set ${variable}, or leave it out of STORES.`)
    const server = await start()
    servers.push(server)
    env[variable] = server.url()
  }
  const child = spawn(process.execPath, [fileURLToPath(new URL(program, import.meta.url)), ...rest], {
    env,
    stdio: 'inherit',
  })
  await once(child, 'exit')
  process.exitCode = child.exitCode ?? 1
} finally {
  for (const server of servers) await server.remove()
}
