/** Migrations create the tables once, whichever process is first, and leave foreign tables untouched. */
import { migratePostgres, postgresMigrations, postgresStore } from 'messaging-webhooks/postgres'
import { expect, test } from 'vitest'
import { admit, claim, eventOf, hostOf, namesOf, opened } from './events.ts'
import { describePostgres, freshSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const TIMEOUT = { timeout: 60_000 }
const HOST = hostOf({ claims: false })

async function tablesOf(schema: string): Promise<readonly unknown[]> {
  return rowsOf(`
    SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '${schema}'
    UNION ALL SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = '${schema}'
    ORDER BY 1, 2`)
}

describePostgres('migrations', () => {
  test('ten stores that open at once create the tables once', TIMEOUT, async () => {
    const schema = freshSchema()
    const stores = await Promise.all(
      Array.from({ length: 10 }, async () =>
        postgresStore({ connectionString: POSTGRES_URL, schema, maxConnections: 2 }).open(HOST),
      ),
    )
    expect(await rowsOf(`SELECT version FROM "${schema}".messaging_webhooks_migrations`)).toEqual([{ version: 1 }])
    const admissions = await Promise.all(stores.map(async (open) => admit(open, [eventOf('m')])))
    expect(admissions.flat().toSorted()).toEqual([...Array.from({ length: 9 }, () => 'duplicate'), 'new'])
    await Promise.all(stores.map(async (open) => open.close()))
  })

  test('opens tables that were restored without rows, as by pg_dump --schema-only', TIMEOUT, async () => {
    const schema = freshSchema()
    const place = { connectionString: POSTGRES_URL, schema }
    await migratePostgres(place)
    const tables = ['messaging_webhooks_migrations', 'records', 'due', 'payloads', 'dead_letters', 'workers']
    const all = tables.map((table) => `"${schema}".${table}`).join(', ')
    const before = await tablesOf(schema)
    // What such a dump restores is the same as emptied tables.
    await rowsOf(`TRUNCATE ${all}`)
    const open = await opened(postgresStore(place))
    expect(await admit(open, [eventOf('m')])).toEqual(['new'])
    expect(namesOf(await claim(open))).toEqual(['m'])
    expect(await tablesOf(schema)).toEqual(before)
    await rowsOf(`DROP INDEX "${schema}".due_by_time; DELETE FROM "${schema}".messaging_webhooks_migrations`)
    expect(await migratePostgres(place)).toEqual({ from: 0, to: 1 })
    expect(await admit(open, [eventOf('m')])).toEqual(['duplicate'])
  })

  test.each([
    ['store_foreign', 'payloads', 'CREATE TABLE {schema}.payloads (theirs text)'],
    [
      'store_newer',
      '1000',
      `${postgresMigrations()}; INSERT INTO {schema}.messaging_webhooks_migrations (version) VALUES (1000)`,
    ],
  ])('refuses with %s, and leaves the tables as they are', TIMEOUT, async (code, says, sql) => {
    const schema = freshSchema()
    const own = sql.replaceAll('"messaging_webhooks"', `"${schema}"`).replaceAll('{schema}', `"${schema}"`)
    await rowsOf(`CREATE SCHEMA IF NOT EXISTS "${schema}"; ${own}`)
    const before = await tablesOf(schema)
    const place = { connectionString: POSTGRES_URL, schema }
    const refused = { code, message: expect.stringContaining(says) as string }
    await expect(Promise.resolve(postgresStore(place).open(HOST))).rejects.toMatchObject(refused)
    await expect(migratePostgres(place)).rejects.toMatchObject({ code })
    expect(await tablesOf(schema)).toEqual(before)
  })

  test('the printed migrations create the same tables, and change nothing when applied twice', TIMEOUT, async () => {
    const [printed, applied] = [freshSchema(), freshSchema()]
    const sql = postgresMigrations({ schema: printed })
    await onServer((client) => client.query(sql))
    expect(await migratePostgres({ connectionString: POSTGRES_URL, schema: applied })).toEqual({ from: 0, to: 1 })
    expect(await tablesOf(printed)).toEqual(await tablesOf(applied))
    await expect(onServer((client) => client.query(sql))).rejects.toThrow(/messaging_webhooks_migrations_pkey/)
    expect(await migratePostgres({ connectionString: POSTGRES_URL, schema: printed })).toEqual({ from: 1, to: 1 })
    expect(postgresMigrations({ schema: 'odd "name"' })).toContain('"odd ""name""".records')
    expect(postgresMigrations()).toContain('CREATE SCHEMA IF NOT EXISTS "messaging_webhooks";')
  })
})
