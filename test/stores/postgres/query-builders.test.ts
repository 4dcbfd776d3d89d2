/** Handlers that write through query builders on the connection of the transaction: their writes and the settlement commit together. */
import { createReceiver } from 'messaging-webhooks'
import { postgresStore } from 'messaging-webhooks/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgSchema, text } from 'drizzle-orm/pg-core'
import { Kysely, PostgresAdapter, DummyDriver, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import createKnex from 'knex'
import type { ClientBase, PoolClient } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { admit, eventOf, observer } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

/** Writes one row of the table `written`. */
type Write = (transaction: ClientBase, what: string, schema: string) => Promise<unknown>

const knex = createKnex({ client: 'pg' })

const BUILDERS: Readonly<Record<string, Write>> = {
  async drizzle(transaction, what, schema) {
    const written = pgSchema(schema).table('written', { what: text() })
    // Drizzle's types name the clients of a pool. It releases none.
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- The pool made it.
    await drizzle({ client: transaction as PoolClient })
      .insert(written)
      .values({ what })
  },
  async kysely(transaction, what, schema) {
    const compiler = new Kysely<{ written: { what: string } }>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    })
    const { sql, parameters } = compiler.withSchema(schema).insertInto('written').values({ what }).compile()
    await transaction.query(sql, [...parameters])
  },
  async knex(transaction, what, schema) {
    await knex('written').withSchema(schema).insert({ what }).connection(transaction)
  },
}

describePostgres('query builders', () => {
  test.each(Object.entries(BUILDERS))('%s', { timeout: 60_000 }, async (_, write) => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, transactional: true })
    const receiver = createReceiver({
      credentials: { authKey: 'unused', signingSecret: 'unused' },
      store,
      logger: false,
      retry: { initialDelayMs: 10 },
    })
    onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
    receiver.on('message.*', async (_, { transaction, attempt }) => {
      await write(transaction, `attempt ${attempt}`, schema)
      if (attempt === 1) throw new Error('The first attempt fails after its write.')
    })
    const other = await observer(postgresStore({ connectionString: POSTGRES_URL, schema }))
    await rowsOf(`CREATE TABLE "${schema}".written (what text NOT NULL)`)
    await receiver.start()
    await admit(other, [eventOf('m')])
    await expect.poll(() => other.counts(), { timeout: 30_000 }).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await rowsOf(`SELECT * FROM "${schema}".written`)).toEqual([{ what: 'attempt 2' }])
  })
})
