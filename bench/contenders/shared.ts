/** The stores that several processes can share. MySQL has no entry in `STORES`: the other programs do not measure it. */
import { mysqlCpu } from '../database/mysql-cpu.ts'
import { newPlace, STORES, type StoreEntry } from './stores.ts'

export const MYSQL_URL = process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306/test'

const MYSQL: StoreEntry = {
  label: 'MySQL',
  durable: true,
  server: MYSQL_URL,
  cpu: () => mysqlCpu(MYSQL_URL),
  async make(place = newPlace()) {
    const { mysqlStore } = await import('messaging-webhooks/mysql')
    const prefix = `bench_${place}`
    return {
      store: mysqlStore({ uri: MYSQL_URL, prefix }),
      async close({ remove }) {
        if (remove) await removeTables(prefix)
      },
    }
  },
}

export const SHARED_STORES = {
  postgres: STORES.postgres,
  mysql: MYSQL,
  redis: STORES.redis,
  sqlite: STORES.sqlite,
} as const satisfies Readonly<Record<string, StoreEntry>>

export type SharedStore = keyof typeof SHARED_STORES

export function isSharedStore(name: string | undefined): name is SharedStore {
  return name !== undefined && Object.hasOwn(SHARED_STORES, name)
}

/** The stores that STORES names, with commas between; all of them by default. */
export function chosenStores(): readonly SharedStore[] {
  return (process.env['STORES'] ?? Object.keys(SHARED_STORES).join(',')).split(',').map((name) => {
    if (isSharedStore(name)) return name
    throw new Error(`STORES names “${name}”; pass ${Object.keys(SHARED_STORES).join(', ')}.`)
  })
}

/** Rows of one statement, on a connection of its own. */
export async function onMysql(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection(MYSQL_URL)
  try {
    const [rows] = await connection.query(statement)
    // Rows are objects unless the connection is set to return arrays.
    return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : []
  } finally {
    await connection.end()
  }
}

async function removeTables(prefix: string): Promise<void> {
  const tables = await onMysql(`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name LIKE '${prefix.replaceAll('_', '\\_')}\\_%'`)
  for (const { name } of tables) await onMysql(`DROP TABLE \`${String(name)}\``)
}
