/** `context.transaction`: what handlers write commits together with the event's settlement. */
import { createReceiver, type MessagingWebhooksError } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { expect, onTestFinished, test } from 'vitest'
import { eventOf } from '../postgres/events.ts'
import { describeMysql, freshPrefix, inTransaction, MYSQL_URL, rowsOf } from './database.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }

/** A receiver on a transactional store, with a table for its handlers' writes. */
async function writing({ attempts = 5 } = {}) {
  const prefix = freshPrefix()
  const errors: MessagingWebhooksError[] = []
  const receiver = createReceiver({
    credentials: { authKey: 'unused', signingSecret: 'unused' },
    store: mysqlStore({ uri: MYSQL_URL, prefix, transactional: true, pollIntervalMs: 500 }),
    retry: { attempts, initialDelayMs: 1, maxDelayMs: 5 },
    logger: false,
  })
  receiver.onError((error) => void errors.push(error))
  onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
  await receiver.start()
  const table = `\`${prefix}_written\``
  await rowsOf(`CREATE TABLE ${table} (what VARCHAR(100) NOT NULL PRIMARY KEY)`)
  const admitting = await mysqlStore({ uri: MYSQL_URL, prefix }).open({ onWork() {}, claims: false })
  onTestFinished(() => admitting.close())
  return {
    table,
    receiver,
    errors,
    insert: (what: string) => `INSERT INTO ${table} VALUES ('${what}')`,
    written: async () => (await rowsOf(`SELECT what FROM ${table} ORDER BY what`)).map(({ what }) => what),
    admit: () => admitting.admit([eventOf('m')], Date.now()),
    counts: () => admitting.counts(),
  }
}

describeMysql('transactional', () => {
  test('rolls back what a failed attempt wrote, and runs all handlers again', TIMEOUT, async () => {
    const { receiver, insert, written, admit, counts } = await writing()
    const attempts: number[] = []
    receiver.on('message.*', (event, { transaction, attempt }) => transaction.query(insert(`first of ${attempt}`)))
    receiver.on('message.*', async (event, { transaction, attempt }) => {
      attempts.push(attempt)
      await transaction.query(insert(`second of ${attempt}`))
      if (attempt < 3) throw new Error('not yet')
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(attempts).toEqual([1, 2, 3])
    expect(await written()).toEqual(['first of 3', 'second of 3'])
  })

  test('undoes only the statement when a refused row is not thrown', TIMEOUT, async () => {
    const { receiver, errors, insert, written, admit, counts } = await writing()
    receiver.on('message.*', async (event, { transaction }) => {
      await transaction.query(insert('same'))
      await transaction.query(insert('same')).catch(() => undefined)
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(errors).toEqual([])
    expect(await written()).toEqual(['same'])
  })

  test('fails the attempt and writes nothing when a handler swallows a deadlock', TIMEOUT, async () => {
    const { table, receiver, errors, insert, written, admit, counts } = await writing()
    await rowsOf(insert('a'))
    await rowsOf(insert('b'))
    const lock = (what: string): string => `UPDATE ${table} SET what = what WHERE what = '${what}'`
    receiver.on('message.*', async (event, { transaction, attempt }) => {
      if (attempt > 1) return
      await transaction.query(insert('before'))
      await transaction.query(lock('a'))
      // Another transaction locks the rows in the opposite order and has more to undo, so the server ends this one.
      const other = inTransaction(async (run) => {
        for (let index = 0; index < 50; index += 1) await run(insert(`other ${index}`))
        await run(lock('b'))
        const waiting = run(lock('a'))
        await transaction.query(lock('b')).catch(() => undefined)
        await waiting
      })
      await other
      await transaction.query(insert('after'))
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(errors.map(({ code }) => code)).toEqual(['transaction_failed'])
    expect((await written()).filter((what) => !String(what).startsWith('other'))).toEqual(['a', 'b'])
  })

  test('fails the attempt when a handler commits', TIMEOUT, async () => {
    const { receiver, errors, insert, written, admit, counts } = await writing()
    receiver.on('message.*', async (event, { transaction, attempt }) => {
      await transaction.query(insert(`attempt ${attempt}`))
      if (attempt === 1) await transaction.query('COMMIT')
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(errors.map(({ code }) => code)).toEqual(['transaction_failed'])
    expect(await written()).toEqual(['attempt 1', 'attempt 2'])
  })

  test('rolls back and retries when the connection is cut while a handler writes', TIMEOUT, async () => {
    const { receiver, insert, written, admit, counts } = await writing()
    receiver.on('message.*', async (event, { transaction, attempt }) => {
      await transaction.query(insert(`attempt ${attempt}`))
      if (attempt === 1) await rowsOf(`KILL ${transaction.threadId}`)
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await written()).toEqual(['attempt 2'])
  })

  test('commits nothing when the lease is lost while a handler writes', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const store = mysqlStore({ uri: MYSQL_URL, prefix, transactional: true })
    const [slow, other] = [await store.open({ onWork() {} }), await store.open({ onWork() {} })]
    onTestFinished(async () => {
      await slow.close()
      await other.close()
    })
    await rowsOf(`CREATE TABLE \`${prefix}_written\` (what VARCHAR(100) NOT NULL)`)
    await slow.admit([eventOf('m')], Date.now())
    const take = async (open: typeof slow) => {
      const nowMs = Date.now()
      const { claims } = await open.claim({ limit: 1, nowMs, leaseUntilMs: nowMs + 100, exclude: new Set() })
      return claims[0]
    }
    const first = await take(slow)
    if (first === undefined) throw new Error('Nothing was claimed.')
    await slow.contextFor?.(first).transaction.query(`INSERT INTO \`${prefix}_written\` VALUES ('slow')`)
    await expect.poll(async () => (await take(other))?.attempt, POLL).toBe(2)
    const { id, messageKey, token } = first
    expect(await slow.settle([{ id, messageKey, token, outcome: 'done' }], Date.now())).toEqual([false])
    expect(await rowsOf(`SELECT * FROM \`${prefix}_written\``)).toEqual([])
  })
})
