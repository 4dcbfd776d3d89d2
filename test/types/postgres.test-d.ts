import { createReceiver, type HandlerContext, type DeliveredEvent, type Store } from 'messaging-webhooks'
import { postgresStore, type PostgresContext } from 'messaging-webhooks/postgres'
import type { ClientBase } from 'pg'
import { expectTypeOf, test } from 'vitest'

const connectionString = 'postgres://127.0.0.1/unused'
const credentials = { authKey: 'key' }

test('handlers of a transactional store get the transaction', () => {
  const receiver = createReceiver({ credentials, store: postgresStore({ connectionString, transactional: true }) })
  receiver.on('message.delivered', (event, context) => {
    expectTypeOf(event).toEqualTypeOf<DeliveredEvent>()
    expectTypeOf(context).toEqualTypeOf<HandlerContext & PostgresContext>()
    expectTypeOf(context.transaction).toEqualTypeOf<ClientBase>()
  })
})

test('handlers of another store do not', () => {
  expectTypeOf(postgresStore({ connectionString })).toEqualTypeOf<Store>()
  const receiver = createReceiver({ credentials, store: postgresStore({ connectionString, transactional: false }) })
  receiver.onAny((event, context) => {
    expectTypeOf(context).not.toHaveProperty('transaction')
  })
})
