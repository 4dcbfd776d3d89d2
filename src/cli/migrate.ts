/** `migrate`: creates or updates the tables of a Postgres or MySQL store, or prints the SQL. */
import { z } from 'zod'
import { command, flag, toggle, usage } from './command.ts'
import { schemeOf, STORE_FLAGS, storeUrl, type Place } from './stores.ts'
import { shown } from './terminal.ts'

export const { define } = command({
  flags: {
    store: flag('--store <url>', 'postgres://… or mysql://…; default: the variable STORE_URL', z.string().optional()),
    schema: STORE_FLAGS.schema,
    prefix: STORE_FLAGS.prefix,
    print: toggle('--print', 'print the missing SQL, and change nothing; without a store, print all SQL of Postgres'),
  },
  async run({ store, print, ...place }, terminal) {
    const url = storeUrl(store, terminal)
    if (url === undefined && !print)
      throw usage('No store was given.', 'Pass --store or set STORE_URL: postgres://… or mysql://…, or pass --print.')
    const { name, migrate, pending, sql } = await tablesAt(url ?? 'postgres:', place)
    if (url === undefined) {
      terminal.print(sql(0).trimEnd())
      return
    }
    const { from, to } = await (print ? pending() : migrate())
    const applied = to === from + 1 ? `migration ${to}` : `migrations ${from + 1} to ${to}`
    if (from === to) terminal.note(`${name} up to date, at version ${to}.`)
    else if (print) terminal.print(sql(from).trimEnd())
    else terminal.print(`${name} at version ${to}. Applied ${applied}.`)
  },
})

/** The name of the tables with its verb, and their migrations. */
async function tablesAt(url: string, place: Place) {
  const scheme = schemeOf(url) ?? ''
  if (/^postgres(ql)?$/.test(scheme)) return tablesOfPostgres(url, place)
  if (scheme === 'mysql') return tablesOfMysql(url, place)
  throw usage(
    'Only Postgres and MySQL stores have migrations. Other stores create what they need when they open.',
    'Expected for example --store postgres://user@host/database',
  )
}

async function tablesOfPostgres(connectionString: string, { schema = 'messaging_webhooks', prefix }: Place) {
  if (prefix !== undefined) throw usage('--prefix applies only to MySQL.')
  const postgres = await import('../stores/postgres/store.ts')
  return {
    name: `The schema ${shown(schema)} is`,
    migrate: () => postgres.migratePostgres({ connectionString, schema }),
    pending: () => postgres.pendingPostgresMigrations({ connectionString, schema }),
    sql: (from: number) => postgres.postgresMigrations({ schema, from }),
  }
}

async function tablesOfMysql(uri: string, { schema, prefix = 'messaging_webhooks' }: Place) {
  if (schema !== undefined) throw usage('--schema applies only to Postgres.')
  const mysql = await import('../stores/mysql/store.ts')
  return {
    name: `The tables ${shown(prefix)}_… are`,
    migrate: () => mysql.migrateMysql({ uri, prefix }),
    pending: () => mysql.pendingMysqlMigrations({ uri, prefix }),
    sql: () => mysql.mysqlMigrations({ prefix }),
  }
}
