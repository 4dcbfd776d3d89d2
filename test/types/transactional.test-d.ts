/** Handlers of a transactional store get the transaction of its driver; those of another store do not. */
import { createReceiver, type HandlerContext, type Store } from 'messaging-webhooks'
import { mysqlStore, type MysqlContext } from 'messaging-webhooks/mysql'
import { postgresStore, type PostgresContext } from 'messaging-webhooks/postgres'
import type { Connection, Pool } from 'mysql2/promise'
import type { ClientBase } from 'pg'
import { expectTypeOf, test } from 'vitest'

const connectionString = 'postgres://127.0.0.1/unused'
const uri = 'mysql://127.0.0.1/unused'
const credentials = { authKey: 'key' }

test('Postgres', () => {
  const store = postgresStore({ connectionString, transactional: true })
  createReceiver({ credentials, store }).on('message.delivered', (_event, context) => {
    expectTypeOf(context).toEqualTypeOf<HandlerContext & PostgresContext>()
    expectTypeOf(context.transaction).toEqualTypeOf<ClientBase>()
  })
  expectTypeOf(postgresStore({ connectionString })).toEqualTypeOf<Store>()
  expectTypeOf(postgresStore({ connectionString, transactional: false })).toEqualTypeOf<Store>()
})

test('MySQL', () => {
  const store = mysqlStore({ uri, transactional: true })
  createReceiver({ credentials, store }).on('message.delivered', (_event, context) => {
    expectTypeOf(context).toEqualTypeOf<HandlerContext & MysqlContext>()
    expectTypeOf(context.transaction).toEqualTypeOf<Connection>()
  })
  expectTypeOf(mysqlStore({ uri })).toEqualTypeOf<Store>()
  expectTypeOf(mysqlStore({ uri, transactional: false })).toEqualTypeOf<Store>()
  expectTypeOf<Parameters<typeof mysqlStore>[0]['pool']>().toEqualTypeOf<Pool | undefined>()
})
