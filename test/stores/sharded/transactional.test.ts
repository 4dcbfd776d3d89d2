/** A handler's transaction is one in the shard of its message, and is settled there. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { createReceiver } from 'messaging-webhooks'
import { shardedStore } from 'messaging-webhooks/sharded'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, post, servingStatus, SIGNING_SECRET } from '../../support/receiving.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from '../postgres/schema.ts'

describePostgres('with handlers’ transactions', () => {
  test('each event gets one, and is handled once', async () => {
    const schemas = [newSchema(), newSchema()] as const
    const shard = (schema: string) =>
      postgresStore({ connectionString: POSTGRES_URL, schema, transactional: true, maxConnections: 4 })
    const receiver = createReceiver({
      credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
      store: shardedStore({ a: shard(schemas[0]), b: shard(schemas[1]) }),
      spool: false,
      logger: false,
    })
    onTestFinished(async () => {
      for (const schema of schemas) await dropSchema(schema)
    })
    const errors: unknown[] = []
    receiver.onError((error) => void errors.push(error))
    const seen: string[] = []
    const paths = new Set<unknown>()
    receiver.on('message.*', async ({ messageId }, { transaction }) => {
      const { rows } = await transaction.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id')
      paths.add(rows[0]?.id)
      seen.push(messageId)
    })
    const url = await servingStatus(receiver)
    await receiver.start()
    const ids = Array.from({ length: 20 }, (_, index) => `m${index}`)
    const answers = await Promise.all(ids.map((messageId) => post(url, callback.smsDelivery({ messageId }))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
    expect(await receiver.drain()).toBe(true)
    expect(seen.toSorted()).toEqual(ids.toSorted())
    expect(paths.size).toBe(ids.length)
    const { shards } = await receiver.stats()
    expect(shards?.map(({ unsettled }) => unsettled)).toEqual([0, 0])
    expect(errors).toEqual([])
  })
})
