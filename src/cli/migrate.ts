/** `migrate`: creates or updates the tables of a Postgres store, or prints the SQL. */
import { z } from 'zod'
import { command, flag, toggle, usage } from './command.ts'
import { schemeOf, storeUrl } from './stores.ts'
import { shown } from './terminal.ts'

export const { define } = command({
  flags: {
    store: flag('--store <url>', 'postgres://…; default: the variable STORE_URL', z.string().optional()),
    schema: flag('--schema <name>', 'the schema of the tables', z.string().default('messaging_webhooks')),
    print: toggle('--print', 'print the missing SQL, and change nothing; without a store, print all SQL'),
  },
  async run({ store, schema, print }, terminal) {
    const connectionString = storeUrl(store, terminal)
    if (connectionString === undefined && !print)
      throw usage('No store was given.', 'Pass --store or set STORE_URL: postgres://…, or pass --print.')
    if (connectionString !== undefined && !/^postgres(ql)?$/.test(schemeOf(connectionString) ?? ''))
      throw usage(
        'Only a Postgres store has migrations. Other stores create what they need when they open.',
        'Expected for example --store postgres://user@host/database',
      )
    const postgres = await import('../stores/postgres/store.ts')
    if (connectionString === undefined) {
      terminal.print(postgres.postgresMigrations({ schema }).trimEnd(), 'whole')
      return
    }
    const place = { connectionString, schema }
    const { from, to } = await (print ? postgres.pendingPostgresMigrations(place) : postgres.migratePostgres(place))
    const name = `The schema ${shown(schema)}`
    const applied = to === from + 1 ? `migration ${to}` : `migrations ${from + 1} to ${to}`
    if (from === to) terminal.note(`${name} is up to date, at version ${to}.`)
    else if (print) terminal.print(postgres.postgresMigrations({ schema, from }).trimEnd(), 'whole')
    else terminal.print(`${name} is at version ${to}. Applied ${applied}.`)
  },
})
