/** `context.transaction`: what handlers write commits together with the event's settlement. */
import { mysqlStore, type MysqlContext } from 'messaging-webhooks/mysql'
import { expect, test } from 'vitest'
import { POLL, testTransactions, TIMEOUT, writing, type TransactionalDatabase } from '../transactional.ts'
import { describeMysql, freshPrefix, inTransaction, MYSQL_URL, rowsOf } from './database.ts'

async function fresh(): Promise<TransactionalDatabase<MysqlContext>> {
  const prefix = freshPrefix()
  const table = `\`${prefix}_written\``
  await rowsOf(`CREATE TABLE ${table} (what VARCHAR(100) NOT NULL PRIMARY KEY)`)
  return {
    table,
    store: mysqlStore({ uri: MYSQL_URL, prefix, transactional: true, pollIntervalMs: 500 }),
    plain: mysqlStore({ uri: MYSQL_URL, prefix }),
    insert: ({ transaction }, what) => transaction.query(`INSERT INTO ${table} (what) VALUES (?)`, [what]),
    query: ({ transaction }, statement) => transaction.query(statement),
    written: async () => (await rowsOf(`SELECT what FROM ${table} ORDER BY what`)).map(({ what }) => what),
    cut: ({ transaction }) => rowsOf(`KILL ${transaction.threadId}`),
  }
}

describeMysql('transactional', () => {
  testTransactions(fresh)

  test('undoes only the statement when a refused row is not thrown', TIMEOUT, async () => {
    const { receiver, errors, insert, written, admit, counts } = await writing(await fresh())
    receiver.on('message.*', async (event, context) => {
      await insert(context, 'same')
      await insert(context, 'same').catch(() => undefined)
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(errors).toEqual([])
    expect(await written()).toEqual(['same'])
  })

  test('fails the attempt and writes nothing when a handler swallows a deadlock', TIMEOUT, async () => {
    const { table, receiver, errors, insert, written, admit, counts } = await writing(await fresh())
    const inserted = (what: string): string => `INSERT INTO ${table} VALUES ('${what}')`
    await rowsOf(inserted('a'))
    await rowsOf(inserted('b'))
    const lock = (what: string): string => `UPDATE ${table} SET what = what WHERE what = '${what}'`
    receiver.on('message.*', async (event, context) => {
      const { transaction, attempt } = context
      if (attempt > 1) return
      await insert(context, 'before')
      await transaction.query(lock('a'))
      // Another transaction locks the rows in the opposite order and has more to undo, so the server ends this one.
      const other = inTransaction(async (run) => {
        for (let index = 0; index < 50; index += 1) await run(inserted(`other ${index}`))
        await run(lock('b'))
        const waiting = run(lock('a'))
        await transaction.query(lock('b')).catch(() => undefined)
        await waiting
      })
      await other
      await insert(context, 'after')
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(errors.map(({ code }) => code)).toEqual(['transaction_failed'])
    expect((await written()).filter((what) => !String(what).startsWith('other'))).toEqual(['a', 'b'])
  })

  test('fails the attempt when a handler changes a table', TIMEOUT, async () => {
    const { table, receiver, errors, insert, query, written, admit, counts } = await writing(await fresh())
    receiver.on('message.*', async (event, context) => {
      await insert(context, `attempt ${context.attempt}`)
      if (context.attempt === 1) await query(context, `ALTER TABLE ${table} ADD COLUMN more INT NOT NULL DEFAULT 0`)
      else await query(context, `DELETE FROM ${table} WHERE what = 'attempt 1'`)
    })
    await admit()
    await expect.poll(counts, POLL).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(errors.map(({ code }) => code)).toEqual(['transaction_failed'])
    expect(await written()).toEqual(['attempt 2'])
  })
})
