/** A Postgres for one test: a cluster in a temporary folder, with a password, on loopback. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { notRoot, ownServer, serverFolder, type Env, type OwnServer } from './own-server.ts'

const POSTGRES_PASSWORD = 'p@ss:w/rd?of=the#postgres'

interface PostgresServer extends OwnServer {
  readonly port: number
  readonly password: string
  /** Includes the password; `port` of a proxy in front of it. */
  url(options?: { readonly port?: number; readonly query?: string }): string
}

/** The folder of the server's programs, or undefined: Debian keeps them out of the path. */
export function postgresPrograms(): string | undefined {
  const paths = (process.env['PATH'] ?? '').split(':')
  const versioned = globSync('/usr/lib/postgresql/*/bin').toSorted((a, b) =>
    b.localeCompare(a, 'en', { numeric: true }),
  )
  return [...versioned, ...paths].find((folder) => existsSync(join(folder, 'initdb')))
}

/** A temporary folder for a cluster. */
function newFolder() {
  const programs = postgresPrograms()
  if (programs === undefined) throw new Error('initdb is not installed.')
  const folder = serverFolder('postgres')
  return { programs, folder, data: join(folder, 'data') }
}

/** Starts the cluster in the folder. */
async function startIn(
  { programs, folder, data }: ReturnType<typeof newFolder>,
  port: number,
  settings: Readonly<Record<string, string>>,
  env?: Env,
): Promise<PostgresServer> {
  const all: Record<string, string> = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    shared_buffers: '32MB',
    max_connections: '60',
    ...settings,
  }
  const server = ownServer({
    folder,
    command: join(programs, 'postgres'),
    args: ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    // A standby adds: read-only.
    ready: 'database system is ready to accept ',
    // An immediate shutdown: connections are cut, and the next start recovers.
    stopSignal: 'SIGQUIT',
    env,
  })
  await server.start()
  return {
    ...server,
    port,
    password: POSTGRES_PASSWORD,
    url: (options = {}) =>
      `postgres://postgres:${encodeURIComponent(POSTGRES_PASSWORD)}@127.0.0.1:${options.port ?? port}/postgres${options.query ?? ''}`,
  }
}

/** Creates and starts it. `settings` go on the server's command line; `tls` holds its key and certificate, in PEM. */
export async function startPostgres({
  settings = {},
  tls,
  env,
}: {
  readonly settings?: Readonly<Record<string, string>>
  readonly tls?: { readonly key: string; readonly certificate: string }
  readonly env?: Env | undefined
} = {}): Promise<PostgresServer> {
  const place = newFolder()
  const { programs, folder, data } = place
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, POSTGRES_PASSWORD)
  const initdb = [
    ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`],
    ['-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
  ].flat()
  execFileSync(join(programs, 'initdb'), initdb, { ...notRoot(), cwd: folder, stdio: 'pipe' })
  if (tls !== undefined) {
    privateFile(join(data, 'server.key'), tls.key)
    privateFile(join(data, 'server.crt'), tls.certificate)
    // The server refuses connections without TLS.
    privateFile(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n')
  }
  return startIn(place, await freePort(), { ...(tls !== undefined && { ssl: 'on' }), ...settings }, env)
}

/** The name under which a standby connects to its primary. */
export const STANDBY = 'standby'

/** Copies the primary and starts a standby that follows it. */
export async function startStandby(primary: PostgresServer): Promise<PostgresServer> {
  const place = newFolder()
  execFileSync(
    join(place.programs, 'pg_basebackup'),
    [`--pgdata=${place.data}`, `--dbname=${primary.url()}`, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'],
    { ...notRoot(), cwd: place.folder, stdio: 'pipe' },
  )
  return startIn(place, await freePort(), { cluster_name: STANDBY })
}

function privateFile(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 })
  const { uid, gid } = notRoot()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}
