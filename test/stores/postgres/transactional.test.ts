/** `context.transaction`: what handlers write commits together with the event's settlement. */
import { createReceiver } from 'messaging-webhooks'
import { postgresStore, type PostgresContext } from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { POLL, testTransactions, TIMEOUT, writing, type TransactionalDatabase } from '../transactional.ts'
import { admit, eventOf, observer } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

async function fresh(): Promise<TransactionalDatabase<PostgresContext>> {
  const schema = freshSchema()
  const table = `"${schema}".written`
  await rowsOf(`CREATE SCHEMA "${schema}"; CREATE TABLE ${table} (what text NOT NULL)`)
  const place = { connectionString: POSTGRES_URL, schema }
  return {
    table,
    store: postgresStore({ ...place, transactional: true, pollIntervalMs: 500 }),
    plain: postgresStore(place),
    insert: ({ transaction }, what) => transaction.query(`INSERT INTO ${table} VALUES ($1)`, [what]),
    query: ({ transaction }, statement) => transaction.query(statement),
    written: async () => (await rowsOf(`SELECT what FROM ${table} ORDER BY what`)).map(({ what }) => what),
    async cut({ transaction }) {
      const { rows } = await transaction.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await rowsOf(`SELECT pg_terminate_backend(${rows[0]?.pid ?? 0})`)
    },
  }
}

describePostgres('transactional', () => {
  testTransactions(fresh)

  test(
    'a failed statement that is not thrown fails the attempt, and in the end makes a dead letter',
    TIMEOUT,
    async () => {
      const { receiver, errors, insert, written, admit, counts } = await writing(await fresh(), { attempts: 2 })
      receiver.on('message.*', async (event, context) => {
        await insert(context, 'before')
        await context.transaction.query('SELECT 1 / 0').catch(() => undefined)
      })
      await admit()
      await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 1 })
      expect(await written()).toEqual([])
      expect(errors.map(({ code }) => code)).toEqual(['transaction_failed', 'transaction_failed', 'dead_letter'])
      expect(String(errors[0]?.cause)).toMatch(/25P02/)
    },
  )

  test('a constraint checked at the commit fails the attempt', TIMEOUT, async () => {
    const { table, receiver, errors, insert, written, admit, counts } = await writing(await fresh())
    await rowsOf(`ALTER TABLE ${table} ADD CONSTRAINT once UNIQUE (what) DEFERRABLE INITIALLY DEFERRED`)
    receiver.on('message.*', async (event, context) => {
      await insert(context, 'same')
      if (context.attempt === 1) await insert(context, 'same')
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await written()).toEqual(['same'])
    expect(errors.map(({ code }) => code)).toEqual(['transaction_failed'])
    // No text quotes the refused row.
    expect(`${errors[0]?.message} ${String(errors[0]?.cause)}`).not.toContain('(same)')
  })

  test('more handlers than connections wait for their turn', TIMEOUT, async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, transactional: true, maxConnections: 4 })
    const receiver = createReceiver({ credentials: { authKey: 'k', signingSecret: 's' }, store, logger: false })
    onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
    let running = 0
    let most = 0
    receiver.on('message.*', async (event, { transaction }) => {
      running += 1
      most = Math.max(most, running)
      await transaction.query('SELECT pg_sleep(0.01)')
      running -= 1
    })
    await receiver.start()
    const open = await observer(postgresStore({ connectionString: POSTGRES_URL, schema }))
    await admit(
      open,
      Array.from({ length: 40 }, (_, index) => eventOf(`m${index}`)),
    )
    await expect.poll(() => open.counts(), POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(most).toBe(2)
  })
})
