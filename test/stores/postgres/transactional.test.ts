/** `context.transaction`: what handlers write commits together with the event's settlement. */
import type { Store } from 'messaging-webhooks'
import { postgresStore, type PostgresContext } from 'messaging-webhooks/postgres'
import { createReceiver, RetryLater, type MessagingWebhooksError } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { eventOf } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }

/** A receiver on a transactional store, with a table for its handlers' writes. */
async function writing(options: { readonly attempts?: number; readonly store?: Store<PostgresContext> } = {}) {
  const schema = freshSchema()
  const store = postgresStore({ connectionString: POSTGRES_URL, schema, transactional: true, pollIntervalMs: 500 })
  const errors: MessagingWebhooksError[] = []
  const receiver = createReceiver({
    credentials: { authKey: 'unused', signingSecret: 'unused' },
    store: options.store ?? store,
    retry: { attempts: options.attempts ?? 5, initialDelayMs: 1, maxDelayMs: 5 },
    logger: false,
  })
  receiver.onError((error) => void errors.push(error))
  onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
  await receiver.start()
  await rowsOf(`CREATE TABLE "${schema}".written (what text NOT NULL)`)
  const admitting = await postgresStore({ connectionString: POSTGRES_URL, schema }).open({ onWork() {}, claims: false })
  onTestFinished(() => admitting.close())
  return {
    schema,
    receiver,
    errors,
    insert: `INSERT INTO "${schema}".written VALUES ($1)`,
    written: async () => (await rowsOf(`SELECT what FROM "${schema}".written ORDER BY what`)).map(({ what }) => what),
    admit: () => admitting.admit([eventOf('m')], Date.now()),
    counts: () => admitting.counts(),
  }
}

describePostgres('transactional', () => {
  test('rolls back what a failed attempt wrote, and runs all handlers again', TIMEOUT, async () => {
    const { receiver, insert, written, admit, counts } = await writing()
    const attempts: number[] = []
    receiver.on('message.*', (event, { transaction, attempt }) => transaction.query(insert, [`first of ${attempt}`]))
    receiver.on('message.*', async (event, { transaction, attempt }) => {
      attempts.push(attempt)
      await transaction.query(insert, [`second of ${attempt}`])
      if (attempt < 3) throw new Error('not yet')
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(attempts).toEqual([1, 2, 3])
    expect(await written()).toEqual(['first of 3', 'second of 3'])
  })

  test(
    'rolls back the writes of a handler that asks to be called later, without counting an attempt',
    TIMEOUT,
    async () => {
      const { receiver, errors, insert, written, admit, counts } = await writing({ attempts: 1 })
      const calledAt: number[] = []
      receiver.on('message.*', async (event, { transaction, attempt }) => {
        calledAt.push(Date.now())
        await transaction.query(insert, [`${calledAt.length} of attempt ${attempt}`])
        if (calledAt.length === 1) throw new RetryLater(700)
      })
      await admit()
      await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
      const [first = 0, second = 0] = calledAt
      expect(second - first).toBeGreaterThanOrEqual(700)
      expect(await written()).toEqual(['2 of attempt 1'])
      expect(errors).toEqual([])
    },
  )

  test(
    'a failed statement that is not thrown fails the attempt, and in the end makes a dead letter',
    TIMEOUT,
    async () => {
      const { receiver, errors, insert, written, admit, counts } = await writing({ attempts: 2 })
      receiver.on('message.*', async (event, { transaction }) => {
        await transaction.query(insert, ['before'])
        await transaction.query('SELECT 1 / 0').catch(() => undefined)
      })
      await admit()
      await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 1 })
      expect(await written()).toEqual([])
      expect(errors.map(({ code }) => code)).toEqual(['transaction_failed', 'transaction_failed', 'dead_letter'])
      expect(String(errors[0]?.cause)).toMatch(/25P02/)
    },
  )

  test('a constraint checked at the commit fails the attempt', TIMEOUT, async () => {
    const { schema, receiver, errors, insert, written, admit, counts } = await writing()
    await rowsOf(`ALTER TABLE "${schema}".written ADD CONSTRAINT once UNIQUE (what) DEFERRABLE INITIALLY DEFERRED`)
    receiver.on('message.*', async (event, { transaction, attempt }) => {
      await transaction.query(insert, ['same'])
      if (attempt === 1) await transaction.query(insert, ['same'])
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await written()).toEqual(['same'])
    expect(errors.map(({ code }) => code)).toEqual(['transaction_failed'])
    // No text quotes the refused row.
    expect(`${errors[0]?.message} ${String(errors[0]?.cause)}`).not.toContain('(same)')
  })

  test('rolls back and retries when the connection is cut while a handler writes', TIMEOUT, async () => {
    const { receiver, insert, written, admit, counts } = await writing()
    receiver.on('message.*', async (event, { transaction, attempt }) => {
      await transaction.query(insert, [`attempt ${attempt}`])
      if (attempt > 1) return
      const { rows } = await transaction.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await rowsOf(`SELECT pg_terminate_backend(${rows[0]?.pid ?? 0})`)
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await written()).toEqual(['attempt 2'])
  })

  test('commits nothing when the lease is lost while a handler writes', TIMEOUT, async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, transactional: true })
    const [slow, other] = [await store.open({ onWork() {} }), await store.open({ onWork() {} })]
    onTestFinished(async () => {
      await slow.close()
      await other.close()
    })
    await rowsOf(`CREATE TABLE "${schema}".written (what text NOT NULL)`)
    await slow.admit([eventOf('m')], Date.now())
    const take = async (open: typeof slow) => {
      const nowMs = Date.now()
      const { claims } = await open.claim({ limit: 1, nowMs, leaseUntilMs: nowMs + 100, exclude: new Set() })
      return claims[0]
    }
    const first = await take(slow)
    if (first === undefined) throw new Error('Nothing was claimed.')
    await slow.contextFor?.(first).transaction.query(`INSERT INTO "${schema}".written VALUES ('slow')`)
    await expect.poll(async () => (await take(other))?.attempt, POLL).toBe(2)
    const { id, messageKey, token } = first
    expect(await slow.settle([{ id, messageKey, token, outcome: 'done' }], Date.now())).toEqual([false])
    expect(await rowsOf(`SELECT * FROM "${schema}".written`)).toEqual([])
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
    const open = await postgresStore({ connectionString: POSTGRES_URL, schema }).open({ onWork() {}, claims: false })
    onTestFinished(() => open.close())
    await open.admit(
      Array.from({ length: 40 }, (_, index) => eventOf(`m${index}`)),
      Date.now(),
    )
    await expect.poll(() => open.counts(), POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(most).toBe(2)
  })
})
