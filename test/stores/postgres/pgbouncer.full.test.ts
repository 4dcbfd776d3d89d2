/** The store through PgBouncer in transaction mode: each transaction may get another connection. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { pgbouncerProgram, startPgBouncer } from '../../support/servers/pgbouncer.ts'
import { titleWith } from '../../support/skipping.ts'
import { claim, done, eventOf } from './events.ts'
import { describePostgres, dropSchema, freshSchema, newSchema, POSTGRES_URL } from './schema.ts'

const missing = pgbouncerProgram() === undefined ? 'no pgbouncer' : undefined
if (missing !== undefined && process.env['CI'] === 'true') throw new Error('There is no pgbouncer on this machine.')

describe.skipIf(missing !== undefined)(titleWith(missing, 'with PgBouncer'), () => {
  let pooler: Awaited<ReturnType<typeof startPgBouncer>>
  beforeAll(async () => {
    pooler = await startPgBouncer(POSTGRES_URL)
  })
  afterAll(() => pooler.remove())

  describePostgres('in transaction mode', () => {
    storeConformance({
      // What a transaction on another connection could change.
      test(name, run) {
        if (/^(admission|delivery|holders|interleavings)/.test(name)) test(name, { timeout: 120_000 }, run)
      },
      skip: (name, reason) => test.skip(`${name} (${reason})`),
      makeStore() {
        const schema = newSchema()
        const store = postgresStore({
          connectionString: pooler.url,
          listenConnectionString: POSTGRES_URL,
          schema,
          clock: 'caller',
          maxConnections: 3,
        })
        return { store, dispose: () => dropSchema(schema) }
      },
      interleavings: 5,
      capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
    })

    test('many stores have more connections than it has, and lose nothing', { timeout: 60_000 }, async () => {
      const schema = freshSchema()
      const opened = await Promise.all(
        Array.from({ length: 8 }, async () =>
          postgresStore({ connectionString: pooler.url, listenConnectionString: POSTGRES_URL, schema }).open({
            onWork() {},
          }),
        ),
      )
      onTestFinished(async () => {
        await Promise.all(opened.map(async (open) => open.close()))
      })
      const names = Array.from({ length: 80 }, (_, index) => `m${index}`)
      await Promise.all(names.map(async (name, at) => opened[at % opened.length]?.admit([eventOf(name)], Date.now())))
      const seen: (string | undefined)[] = []
      async function handle(open: (typeof opened)[number]): Promise<void> {
        while ((await open.counts()).unsettled > 0) {
          const claims = await claim(open, { limit: 5 })
          seen.push(...claims.map(({ record }) => record.report?.messageId))
          await open.settle(claims.map(done), Date.now())
        }
      }
      await Promise.all(opened.map(handle))
      expect(seen.toSorted()).toEqual(names.toSorted())
    })
  })
})
