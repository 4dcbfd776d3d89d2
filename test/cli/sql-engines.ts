/** The engines whose stores have tables, with what tests of the command line do on each. */
import type { Store } from 'messaging-webhooks'
import { migrateMysql, mysqlMigrations, mysqlStore } from 'messaging-webhooks/mysql'
import { migratePostgres, postgresMigrations, postgresStore } from 'messaging-webhooks/postgres'
import { createConnection } from 'mysql2/promise'
import { onTestFinished } from 'vitest'
import * as mysql from '../stores/mysql/database.ts'
import * as postgres from '../stores/postgres/schema.ts'

/** `name`: of the schema, or the prefix of the tables. */
interface SqlEngine {
  readonly describeEngine: (title: string, tests: () => void) => void
  readonly url: string
  /** Passes the name to a command. */
  readonly flag: '--schema' | '--prefix'
  /** A name whose tables are dropped after the test. */
  readonly fresh: () => string
  /** Subject and verb of a message. */
  readonly subject: (name: string) => string
  readonly tables: readonly string[]
  readonly sql: (name: string) => string
  readonly store: (name: string) => Store
  readonly migrate: (name: string) => Promise<unknown>
  readonly tablesOf: (name: string) => Promise<readonly string[]>
  /** Runs the SQL that a command printed. */
  readonly run: (sql: string) => Promise<unknown>
  /** As if a newer version of this package had migrated the tables. */
  readonly addMigration: (name: string) => Promise<unknown>
  /** Creates a table of another application under the name of one of ours. */
  readonly addForeignTable: (name: string) => Promise<unknown>
  /** The URL of an account that may not create tables; dropped after the test. */
  readonly restrictedUrl: (name: string) => Promise<string>
}

const PASSWORD = 'of-the-account'

/** The server's URL for another account, which `drop` removes after the test. */
function urlOfAccount(server: string, account: string, drop: () => Promise<unknown>): string {
  onTestFinished(async () => {
    await drop()
  })
  const url = new URL(server)
  url.username = account
  url.password = PASSWORD
  return url.href
}

const POSTGRES: SqlEngine = {
  describeEngine: postgres.describePostgres,
  url: postgres.POSTGRES_URL,
  flag: '--schema',
  fresh: postgres.freshSchema,
  subject: (schema) => `The schema ${schema} is`,
  tables: ['dead_letters', 'due', 'messaging_webhooks_migrations', 'payloads', 'records', 'workers'],
  sql: (schema) => postgresMigrations({ schema }),
  store: (schema) => postgresStore({ connectionString: postgres.POSTGRES_URL, schema }),
  migrate: (schema) => migratePostgres({ connectionString: postgres.POSTGRES_URL, schema }),
  async tablesOf(schema) {
    const rows = await postgres.rowsOf(`SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' ORDER BY 1`)
    return rows.map(({ tablename }) => String(tablename))
  },
  run: (sql) => postgres.onServer((client) => client.query(sql)),
  addMigration: (schema) =>
    postgres.rowsOf(`INSERT INTO "${schema}".messaging_webhooks_migrations (version) VALUES (1000)`),
  addForeignTable: (schema) =>
    postgres.rowsOf(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}".payloads (theirs text)`),
  async restrictedUrl(schema) {
    const role = `${schema}_role`
    await postgres.rowsOf(`CREATE ROLE "${role}" LOGIN PASSWORD '${PASSWORD}'`)
    return urlOfAccount(postgres.POSTGRES_URL, role, () =>
      postgres.rowsOf(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`),
    )
  },
}

const MYSQL: SqlEngine = {
  describeEngine: mysql.describeMysql,
  url: mysql.MYSQL_URL,
  flag: '--prefix',
  fresh: mysql.freshPrefix,
  subject: (prefix) => `The tables ${prefix}_… are`,
  tables: ['dead_letters', 'migrations', 'payloads', 'records', 'workers'],
  sql: (prefix) => mysqlMigrations({ prefix }),
  store: (prefix) => mysqlStore({ uri: mysql.MYSQL_URL, prefix, pollIntervalMs: 200 }),
  migrate: (prefix) => migrateMysql({ uri: mysql.MYSQL_URL, prefix }),
  async tablesOf(prefix) {
    const rows = await mysql.rowsOf(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_name LIKE '${prefix}\\_%' ORDER BY 1`,
    )
    return rows.map(({ name }) => String(name).slice(prefix.length + 1))
  },
  async run(sql) {
    const connection = await createConnection({ uri: mysql.MYSQL_URL, multipleStatements: true })
    await connection.query(sql)
    await connection.end()
  },
  addMigration: (prefix) => mysql.rowsOf(`INSERT INTO \`${prefix}_migrations\` (version) VALUES (1000)`),
  addForeignTable: (prefix) => mysql.rowsOf(`CREATE TABLE \`${prefix}_payloads\` (theirs TEXT)`),
  async restrictedUrl(prefix) {
    const account = `${prefix}_app`
    const database = new URL(mysql.MYSQL_URL).pathname.slice(1)
    await mysql.rowsOf(`CREATE USER ${account}@'%' IDENTIFIED BY '${PASSWORD}'`)
    await mysql.rowsOf(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${database}.* TO ${account}@'%'`)
    return urlOfAccount(mysql.MYSQL_URL, account, () => mysql.rowsOf(`DROP USER ${account}@'%'`))
  },
}

export const SQL_ENGINES: Readonly<Record<string, SqlEngine>> = { Postgres: POSTGRES, MySQL: MYSQL }
