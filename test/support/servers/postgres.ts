/** A Postgres of a test's own: a cluster in a temporary folder, with a password, on loopback. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { notRoot, ownServer, serverFolder, type OwnServer } from './own-server.ts'

const POSTGRES_PASSWORD = 'p@ss:w/rd?of=the#postgres'

interface PostgresServer extends OwnServer {
  readonly port: number
  readonly password: string
  /** With the password; `port` for one that stands in front of it. */
  url(options?: { readonly port?: number; readonly query?: string }): string
}

/** Where the server's programs are, or undefined: Debian keeps them out of the path. */
export function postgresPrograms(): string | undefined {
  const paths = (process.env['PATH'] ?? '').split(':')
  const versioned = globSync('/usr/lib/postgresql/*/bin').toSorted((a, b) =>
    b.localeCompare(a, 'en', { numeric: true }),
  )
  return [...versioned, ...paths].find((folder) => existsSync(join(folder, 'initdb')))
}

/** Makes it and starts it. `settings` go on the server's command line; `tls` are its key and certificate, in PEM. */
export async function startPostgres({
  settings = {},
  tls,
}: {
  readonly settings?: Readonly<Record<string, string>>
  readonly tls?: { readonly key: string; readonly certificate: string }
} = {}): Promise<PostgresServer> {
  const programs = postgresPrograms()
  if (programs === undefined) throw new Error('There is no initdb on this machine.')
  const folder = serverFolder('postgres')
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, POSTGRES_PASSWORD)
  const initdb = [
    ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`],
    ['-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
  ].flat()
  execFileSync(join(programs, 'initdb'), initdb, { ...notRoot(), cwd: folder, stdio: 'pipe' })
  const port = await freePort()
  const all: Record<string, string> = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    shared_buffers: '32MB',
    max_connections: '60',
    ...settings,
  }
  if (tls !== undefined) {
    privateFile(join(data, 'server.key'), tls.key)
    privateFile(join(data, 'server.crt'), tls.certificate)
    all['ssl'] = 'on'
    // Nobody gets in without TLS.
    privateFile(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n')
  }
  const server = ownServer({
    folder,
    command: join(programs, 'postgres'),
    args: ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    ready: 'database system is ready to accept connections',
    // An immediate shutdown: connections are cut, and the next start recovers.
    stopSignal: 'SIGQUIT',
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

function privateFile(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 })
  const { uid, gid } = notRoot()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}
