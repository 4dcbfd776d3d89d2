/** The tables: made once, by whoever comes first; not touched where they are not ours. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { migratePostgres, postgresMigrations, postgresStore } from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { claim, done, eventOf } from './events.ts'
import { describePostgres, freshSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const PATIENT = { timeout: 60_000 }
const HOST = { onWork() {}, claims: false }

async function tablesOf(schema: string): Promise<readonly unknown[]> {
  return rowsOf(`
    SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '${schema}'
    UNION ALL SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = '${schema}'
    ORDER BY 1, 2`)
}

describePostgres('migrations', () => {
  test('ten stores that open at once make the tables once', PATIENT, async () => {
    const schema = freshSchema()
    const stores = await Promise.all(
      Array.from({ length: 10 }, async () =>
        postgresStore({ connectionString: POSTGRES_URL, schema, maxConnections: 2 }).open(HOST),
      ),
    )
    expect(await rowsOf(`SELECT version FROM "${schema}".messaging_webhooks_migrations`)).toEqual([{ version: 1 }])
    const admissions = await Promise.all(stores.map(async (open) => open.admit([eventOf('m')], Date.now())))
    expect(admissions.flat().toSorted()).toEqual([...Array.from({ length: 9 }, () => 'duplicate'), 'new'])
    await Promise.all(stores.map(async (open) => open.close()))
  })

  test('and so do processes', PATIENT, async () => {
    const schema = freshSchema()
    const program = new URL('./programs/opener.ts', import.meta.url)
    const openers = Array.from({ length: 4 }, () => fork(program, [POSTGRES_URL, schema]))
    onTestFinished(() => openers.forEach((opener) => void opener.kill('SIGKILL')))
    await Promise.all(openers.map((opener) => once(opener, 'message')))
    const answers = openers.map(async (opener): Promise<unknown> => (await once(opener, 'message'))[0])
    for (const opener of openers) opener.send('open')
    expect(await Promise.all(answers)).toEqual(openers.map(() => 'open'))
    expect(await rowsOf(`SELECT version FROM "${schema}".messaging_webhooks_migrations`)).toEqual([{ version: 1 }])
  })

  test('tables of somebody else with our names are refused and left as they are', PATIENT, async () => {
    const schema = freshSchema()
    await rowsOf(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}".payloads (theirs text)`)
    const before = await tablesOf(schema)
    const opening = Promise.resolve(postgresStore({ connectionString: POSTGRES_URL, schema }).open(HOST))
    await expect(opening).rejects.toMatchObject({
      code: 'store_foreign',
      message: expect.stringContaining('payloads') as string,
    })
    expect(await tablesOf(schema)).toEqual(before)
  })

  test('other tables in the same schema do no harm', PATIENT, async () => {
    const schema = freshSchema()
    await rowsOf(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}".orders (theirs text)`)
    const open = await postgresStore({ connectionString: POSTGRES_URL, schema }).open(HOST)
    expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
    await open.close()
  })

  test('tables of a newer version are refused and left as they are', PATIENT, async () => {
    const schema = freshSchema()
    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    await rowsOf(`INSERT INTO "${schema}".messaging_webhooks_migrations (version) VALUES (1000)`)
    const before = await tablesOf(schema)
    const opening = Promise.resolve(postgresStore({ connectionString: POSTGRES_URL, schema }).open(HOST))
    await expect(opening).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringContaining('1000') as string,
    })
    await expect(migratePostgres({ connectionString: POSTGRES_URL, schema })).rejects.toMatchObject({
      code: 'store_newer',
    })
    expect(await tablesOf(schema)).toEqual(before)
  })

  test('says what there was and is, and does nothing the second time', PATIENT, async () => {
    const schema = freshSchema()
    expect(await migratePostgres({ connectionString: POSTGRES_URL, schema })).toEqual({ from: 0, to: 1 })
    expect(await migratePostgres({ connectionString: POSTGRES_URL, schema })).toEqual({ from: 1, to: 1 })
  })

  test('the printed migrations make the same tables, and applied twice they change nothing', PATIENT, async () => {
    const [printed, applied] = [freshSchema(), freshSchema()]
    const sql = postgresMigrations({ schema: printed })
    await onServer((client) => client.query(sql))
    await migratePostgres({ connectionString: POSTGRES_URL, schema: applied })
    expect(await tablesOf(printed)).toEqual(await tablesOf(applied))
    await expect(onServer((client) => client.query(sql))).rejects.toThrow(/messaging_webhooks_migrations_pkey/)
    expect(await migratePostgres({ connectionString: POSTGRES_URL, schema: printed })).toEqual({ from: 1, to: 1 })
    expect(postgresMigrations({ schema: 'odd "name"' })).toContain('"odd ""name""".records')
    expect(postgresMigrations()).toContain('CREATE SCHEMA IF NOT EXISTS "messaging_webhooks";')
  })

  test(
    'a role that may create nothing works once somebody else has migrated, and is told so before',
    PATIENT,
    async () => {
      const schema = freshSchema()
      const role = `${schema}_role`
      await rowsOf(`CREATE ROLE "${role}" LOGIN PASSWORD 'of-the-role'`)
      const address = new URL(POSTGRES_URL)
      address.username = role
      address.password = 'of-the-role'
      const store = postgresStore({ connectionString: address.href, schema })
      try {
        await expect(Promise.resolve(store.open(HOST))).rejects.toMatchObject({ code: 'store_unmigrated' })
        await migratePostgres({ connectionString: POSTGRES_URL, schema })
        await rowsOf(`
        GRANT USAGE ON SCHEMA "${schema}" TO "${role}";
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${role}"`)
        const open = await store.open(HOST)
        expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
        expect(await open.settle((await claim(open)).map(done), Date.now())).toEqual([true])
        expect(await open.prune(Date.now())).toBe(0)
        await open.close()
      } finally {
        await rowsOf(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`)
      }
    },
  )
})
