/** A MariaDB for one test: a data folder in a temporary folder, with a password, on loopback. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { notRoot, ownServer, programAt, serverFolder, type Env, type OwnServer } from './own-server.ts'

const MYSQL_PASSWORD = 'p@ss:w/rd?of=the#mysql'

interface MysqlServer extends OwnServer {
  readonly port: number
  readonly password: string
  /** Includes the password; `port` of a proxy in front of it. */
  url(options?: { readonly port?: number }): string
}

export function hasMysql(): boolean {
  return programAt('mariadbd') !== undefined && programAt('mariadb-install-db') !== undefined
}

/** Creates and starts it. `settings` go on the server's command line. */
export async function startMysql({
  settings = {},
  env,
}: {
  readonly settings?: Readonly<Record<string, string>>
  readonly env?: Env | undefined
} = {}): Promise<MysqlServer> {
  const [command, install] = [programAt('mariadbd'), programAt('mariadb-install-db')]
  if (command === undefined || install === undefined) throw new Error('mariadbd is not installed.')
  const folder = serverFolder('mysql')
  const data = join(folder, 'data')
  // With one folder for temporary files, two servers that start at once would use the same names for temporary tables.
  const made = [
    '--no-defaults',
    `--datadir=${data}`,
    `--tmpdir=${folder}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]
  execFileSync(install, [...made, '--innodb-log-file-size=16M'], { ...notRoot(), cwd: folder, stdio: 'pipe' })
  const atStart = join(folder, 'start.sql')
  writeFileSync(
    atStart,
    `CREATE DATABASE IF NOT EXISTS test;
CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY '${MYSQL_PASSWORD}';
GRANT ALL ON *.* TO app@'%' WITH GRANT OPTION;
`,
  )
  const port = await freePort()
  const all = {
    datadir: data,
    tmpdir: folder,
    port: String(port),
    'bind-address': '127.0.0.1',
    socket: join(folder, 'socket'),
    'pid-file': join(folder, 'pid'),
    'init-file': atStart,
    'innodb-log-file-size': '16M',
    'innodb-buffer-pool-size': '64M',
    'max-connections': '120',
    'skip-name-resolve': '1',
    ...settings,
  }
  const server = ownServer({
    folder,
    command,
    args: ['--no-defaults', ...Object.entries(all).map(([name, value]) => `--${name}=${value}`)],
    ready: 'ready for connections',
    // Stops without a flush: the next start recovers from the log.
    stopSignal: 'SIGKILL',
    env,
  })
  await server.start()
  return {
    ...server,
    port,
    password: MYSQL_PASSWORD,
    url: (options = {}) => `mysql://app:${encodeURIComponent(MYSQL_PASSWORD)}@127.0.0.1:${options.port ?? port}/test`,
  }
}
