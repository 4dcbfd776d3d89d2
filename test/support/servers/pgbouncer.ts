/** A PgBouncer for one test in front of a Postgres server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { ownServer, programAt, serverFolder, type OwnServer } from './own-server.ts'

interface PgBouncer extends OwnServer {
  /** The same database, through PgBouncer. */
  readonly url: string
}

export const pgbouncerProgram = (): string | undefined => programAt('pgbouncer')

/** When PgBouncer gives a connection to another client: after each transaction or each statement. */
export const POOL_MODES = ['transaction', 'statement'] as const
type PoolMode = (typeof POOL_MODES)[number]

/** Few connections for many clients: state that one client leaves on a connection reaches another client. */
export async function startPgBouncer(postgresUrl: string, mode: PoolMode): Promise<PgBouncer> {
  const command = pgbouncerProgram()
  if (command === undefined) throw new Error('pgbouncer is not installed.')
  const { hostname, port: serverPort, username, password, pathname } = new URL(postgresUrl)
  const folder = serverFolder('pgbouncer')
  const port = await freePort()
  const config = join(folder, 'pgbouncer.ini')
  const user = `user=${decodeURIComponent(username) || 'postgres'}`
  const secret = password === '' ? '' : ` password='${decodeURIComponent(password)}'`
  writeFileSync(
    config,
    `[databases]
* = host=${hostname} port=${serverPort || '5432'} ${user}${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 4
max_client_conn = 200
`,
  )
  const server = ownServer({ folder, command, args: [config], ready: 'process up', stopSignal: 'SIGTERM' })
  await server.start()
  return { ...server, url: `postgres://postgres@127.0.0.1:${port}${pathname}` }
}
