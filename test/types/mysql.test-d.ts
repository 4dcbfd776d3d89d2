import { createReceiver, type HandlerContext, type DeliveredEvent, type Store } from 'messaging-webhooks'
import { mysqlStore, type MysqlContext } from 'messaging-webhooks/mysql'
import type { Connection, Pool } from 'mysql2/promise'
import { expectTypeOf, test } from 'vitest'

const uri = 'mysql://127.0.0.1/unused'
const credentials = { authKey: 'key' }

test('handlers of a transactional store get the transaction', () => {
  const receiver = createReceiver({ credentials, store: mysqlStore({ uri, transactional: true }) })
  receiver.on('message.delivered', (event, context) => {
    expectTypeOf(event).toEqualTypeOf<DeliveredEvent>()
    expectTypeOf(context).toEqualTypeOf<HandlerContext & MysqlContext>()
    expectTypeOf(context.transaction).toEqualTypeOf<Connection>()
  })
})

test('handlers of another store do not', () => {
  expectTypeOf(mysqlStore({ uri })).toEqualTypeOf<Store>()
  const receiver = createReceiver({ credentials, store: mysqlStore({ uri, transactional: false }) })
  receiver.onAny((event, context) => {
    expectTypeOf(context).not.toHaveProperty('transaction')
  })
})

test('the pool is one of mysql2/promise', () => {
  expectTypeOf<Parameters<typeof mysqlStore>[0]['pool']>().toEqualTypeOf<Pool | undefined>()
})
