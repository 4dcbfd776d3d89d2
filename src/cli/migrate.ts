/** `migrate`: creates or updates the tables of a Postgres store, or prints the SQL. */
import type { Command } from 'commander'
import { CliError } from './exit-codes.ts'
import { explained, schemeOf, storeUrl, type StoreOption } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'

interface MigrateOptions extends StoreOption {
  readonly print?: true
}

const DEFAULT_SCHEMA = 'messaging_webhooks'

export function define(command: Command, terminal: Terminal): void {
  command
    .option('--store <url>', 'postgres://…; default: the variable STORE_URL')
    .option('--schema <name>', 'the schema of the tables', DEFAULT_SCHEMA)
    .option('--print', 'print the missing SQL, and change nothing; without a store, print all SQL')
    .action((options: MigrateOptions) => migrate(options, terminal))
}

async function migrate(options: MigrateOptions, terminal: Terminal): Promise<void> {
  const { schema = DEFAULT_SCHEMA, print = false } = options
  const connectionString = storeUrl(options, terminal)
  if (connectionString === undefined && !print)
    throw new CliError('usage', 'No store was given.', 'Pass --store or set STORE_URL: postgres://…, or pass --print.')
  if (connectionString !== undefined && !/^postgres(ql)?$/.test(schemeOf(connectionString) ?? ''))
    throw new CliError(
      'usage',
      'Only a Postgres store has migrations. Other stores create what they need when they open.',
      'Expected for example --store postgres://user@host/database',
    )
  const { migratePostgres, pendingPostgresMigrations, postgresMigrations } = await import('../stores/postgres/store.ts')
  await explained(async () => {
    if (connectionString === undefined) {
      terminal.print(postgresMigrations({ schema }).trimEnd(), 'whole')
      return
    }
    const place = { connectionString, schema }
    const { from, to } = await (print ? pendingPostgresMigrations(place) : migratePostgres(place))
    const name = `The schema ${shown(schema)}`
    if (from === to) terminal.note(`${name} is up to date, at version ${to}.`)
    else if (print) terminal.print(postgresMigrations({ schema, from }).trimEnd(), 'whole')
    else terminal.print(`${name} is at version ${to}. Applied ${numbersAfter(from, to)}.`)
  })
}

function numbersAfter(from: number, to: number): string {
  return to === from + 1 ? `migration ${to}` : `migrations ${from + 1} to ${to}`
}
