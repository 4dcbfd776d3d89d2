/** Erasure on the stores with a server: no table and no key keeps the digits. */
import type { ClientBase } from 'pg'
import { createClient } from 'redis'
import type { Store } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { postgresStore } from 'messaging-webhooks/postgres'
import { redisStore } from 'messaging-webhooks/redis'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
import * as mysql from '../../stores/mysql/database.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from '../../stores/postgres/schema.ts'
import { clientFor, describeRedis, freshPrefix, useRedis } from '../../stores/redis/own-redis.ts'
import { gate } from '../../support/gate.ts'

const PERSON = '254700123456'
const OTHER = '254711999888'

/** Reports of each state for two persons, some dead letters; then one person is erased and cannot be found. */
async function forgetsOne(store: Store<object>, found: (digits: string) => Promise<number>): Promise<void> {
  const { receiver, url } = await receiving({ store, retry: { attempts: 1 } }, { kind: 'status' })
  receiver.on('message.failed', ({ recipient }) => {
    throw new Error(`no such number: ${recipient}`)
  })
  await receiver.start()
  const sent = Array.from({ length: 40 }, (_, at) => {
    const recipient = at % 4 === 0 ? PERSON : OTHER
    const status = at % 3 === 0 ? 'failed' : 'sent'
    return callback.chatApp({ statuses: { message_id: `m${at}`, recipient, status } })
  })
  for (const body of sent) expect((await post(url, body)).status).toBe(204)
  expect(await receiver.drain()).toBe(true)
  expect(await found(PERSON)).toBeGreaterThan(0)
  const counts = { events: 10, deadLetters: 4, messageStates: 10, unsettled: 0 }
  expect(await receiver.forget({ recipient: PERSON }, { dryRun: true })).toMatchObject(counts)
  expect(await receiver.forget({ recipient: PERSON })).toMatchObject(counts)
  expect(await found(PERSON)).toBe(0)
  expect(await found(OTHER)).toBeGreaterThan(0)
  for (const body of sent) await post(url, body)
  expect(await receiver.drain()).toBe(true)
  expect(await found(PERSON)).toBe(0)
  expect(await receiver.messageState('m0')).toBeUndefined()
}

describePostgres('Postgres', () => {
  test('keeps nothing of a person in any column of its tables', async () => {
    const schema = freshSchema()
    await forgetsOne(postgresStore({ connectionString: POSTGRES_URL, schema }), async (digits) => {
      const columns = await rowsOf(
        `SELECT table_name AS at, column_name AS name, data_type AS type FROM information_schema.columns WHERE table_schema = '${schema}'`,
      )
      let count = 0
      for (const { at, name, type } of columns) {
        const text = type === 'bytea' ? `encode("${String(name)}", 'escape')` : `"${String(name)}"::text`
        count += (await rowsOf(`SELECT FROM "${schema}"."${String(at)}" WHERE ${text} LIKE '%${digits}%'`)).length
      }
      return count
    })
  })

  test('rolls back the writes of an erased event’s handler, which had a transaction', async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, transactional: true })
    const { receiver, url, errors } = await receiving({ store }, { kind: 'status' })
    let begun = false
    const { open: release, opened: held } = gate()
    receiver.on('message.*', async (_, context) => {
      // `receiving` does not infer the type of the store's context.
      const { transaction } = context as unknown as { readonly transaction: ClientBase }
      await transaction.query(`CREATE TABLE "${schema}".written ()`)
      begun = true
      await held
    })
    await receiver.start()
    await post(url, callback.chatApp({ statuses: { message_id: 'm', recipient: PERSON, status: 'sent' } }))
    await expect.poll(() => begun).toBe(true)
    expect(await receiver.forget({ recipient: PERSON })).toMatchObject({ events: 1, unsettled: 1 })
    release()
    expect(await receiver.drain()).toBe(true)
    expect(errors).toEqual([])
    expect(await rowsOf(`SELECT to_regclass('"${schema}".written') AS written`)).toEqual([{ written: null }])
  })
})

mysql.describeMysql('MySQL', () => {
  test('keeps nothing of a person in any column of its tables', async () => {
    const prefix = mysql.freshPrefix()
    await forgetsOne(mysqlStore({ uri: mysql.MYSQL_URL, prefix }), async (digits) => {
      const columns = await mysql.rowsOf(
        `SELECT table_name AS \`at\`, column_name AS name FROM information_schema.columns WHERE table_name LIKE '${prefix}\\_%'`,
      )
      let count = 0
      for (const { at, name } of columns)
        count += (await mysql.rowsOf(`SELECT 1 FROM \`${String(at)}\` WHERE \`${String(name)}\` LIKE '%${digits}%'`))
          .length
      return count
    })
  })
})

describeRedis('Redis', () => {
  const server = useRedis({ appendfsync: 'no' })
  test('keeps nothing of a person in any key', async () => {
    const prefix = freshPrefix()
    const { client, end } = clientFor('redis', server().url())
    onTestFinished(end)
    const looking = createClient({ url: server().url() })
    await looking.connect()
    onTestFinished(() => looking.close())
    await forgetsOne(redisStore({ client, prefix }), async (digits) => {
      let count = 0
      for await (const keys of looking.scanIterator({ MATCH: `${prefix}*` }))
        for (const key of keys) {
          const type = await looking.type(key)
          const values =
            type === 'hash'
              ? Object.entries(await looking.hGetAll(key)).flat()
              : type === 'zset'
                ? await looking.zRange(key, 0, -1)
                : [(await looking.get(key)) ?? '']
          count += [key, ...values].filter((value) => value.includes(digits)).length
        }
      return count
    })
  })
})
