/** The store through PgBouncer, which may use another connection for each transaction or each statement. */
import { postgresStore } from 'messaging-webhooks/postgres'
import type { MessageStore } from 'messaging-webhooks/store'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { pgbouncerProgram, POOL_MODES, startPgBouncer } from '../../support/servers/pgbouncer.ts'
import { titleWith } from '../../support/skipping.ts'
import { conformance } from '../conformance.ts'
import { admit, claim, eventOf, hostOf, opened, settleAll } from './events.ts'
import { describePostgres, dropSchema, freshSchema, newSchema, POSTGRES_URL } from './schema.ts'

const missing = pgbouncerProgram() === undefined ? 'no pgbouncer' : undefined
if (missing !== undefined && process.env['CI'] === 'true') throw new Error('There is no pgbouncer on this machine.')

describe.skipIf(missing !== undefined)(titleWith(missing, 'with PgBouncer'), () => {
  for (const mode of POOL_MODES)
    describePostgres(`in ${mode} mode`, () => {
      let pooler: Awaited<ReturnType<typeof startPgBouncer>>
      beforeAll(async () => {
        pooler = await startPgBouncer(POSTGRES_URL, mode)
      })
      afterAll(() => pooler.remove())

      conformance({
        // In statement mode, PgBouncer refuses every transaction of more than one statement.
        only: /^(admission|delivery|workers|erasing|sends|interleavings)/,
        makeStore() {
          const schema = newSchema()
          const store = postgresStore({
            connectionString: pooler.url,
            listenConnectionString: POSTGRES_URL,
            schema,
            maxConnections: 3,
          })
          return { store, dispose: () => dropSchema(schema) }
        },
        interleavings: 5,
        capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
      })

      test('many stores open more connections than PgBouncer has, and lose nothing', { timeout: 60_000 }, async () => {
        const schema = freshSchema()
        const store = postgresStore({ connectionString: pooler.url, listenConnectionString: POSTGRES_URL, schema })
        const stores = await Promise.all(Array.from({ length: 8 }, () => opened(store)))
        const names = Array.from({ length: 80 }, (_, index) => `m${index}`)
        await Promise.all(
          stores.map((open, at) =>
            admit(
              open,
              names.filter((_, index) => index % 8 === at).map((name) => eventOf(name)),
            ),
          ),
        )
        const seen: (string | undefined)[] = []
        async function handle(open: MessageStore): Promise<void> {
          while ((await open.counts()).unsettled > 0) {
            const claims = await claim(open, { limit: 5 })
            seen.push(...claims.map(({ record }) => record.report?.messageId))
            await settleAll(open, claims)
          }
        }
        await Promise.all(stores.map(handle))
        expect(seen.toSorted()).toEqual(names.toSorted())
      })

      test('handlers get a transaction in transaction mode, and a clear error in statement mode', async () => {
        const options = { connectionString: pooler.url, listenConnectionString: POSTGRES_URL, transactional: true }
        const store = postgresStore({ ...options, schema: freshSchema() })
        const opening = Promise.resolve(store.open(hostOf()))
        if (mode === 'statement')
          return expect(opening).rejects.toMatchObject({
            code: 'options_invalid',
            message: expect.stringContaining('pool_mode = transaction') as string,
          })
        const open = await opening
        onTestFinished(async () => open.close())
        await admit(open, [eventOf('m')])
        const [claimed] = await claim(open, { limit: 1 })
        expect(claimed).toBeDefined()
      })
    })
})
