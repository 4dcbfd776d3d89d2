/** An error for a missing privilege names it, and the statement in the error is enough to grant it. */
import { MessagingWebhooksError } from 'messaging-webhooks'
import { migratePostgres, pendingPostgresMigrations, postgresStore } from 'messaging-webhooks/postgres'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import type { StoreHost } from '../../../src/inbox/store.ts'
import { claim, done, eventOf, namesOf } from './events.ts'
import { describePostgres, freshSchema, newSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const TIMEOUT = { timeout: 60_000 }
const DATABASE = new URL(POSTGRES_URL).pathname.slice(1)

/** A role without privileges, and its address. */
async function bareRole(): Promise<{ readonly role: string; readonly connectionString: string }> {
  const role = `${newSchema()}_role`
  await rowsOf(`CREATE ROLE "${role}" LOGIN PASSWORD 'of-the-role'`)
  onTestFinished(async () => {
    await rowsOf(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`)
  })
  const address = new URL(POSTGRES_URL)
  address.username = role
  address.password = 'of-the-role'
  return { role, connectionString: address.href }
}

async function failureOf(work: Promise<unknown>): Promise<MessagingWebhooksError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof MessagingWebhooksError)) throw new Error('It did not fail with an error of this package.')
  return error
}

/** The statements that an error prints. */
function grantsIn({ message }: Error): readonly string[] {
  return message.match(/GRANT [^;]+;/g) ?? []
}

async function open(connectionString: string, schema: string, host: StoreHost = { onWork() {} }) {
  return postgresStore({ connectionString, schema, maxConnections: 2 }).open(host)
}

/** Admits, claims, settles and prunes an event. */
async function works(connectionString: string, schema: string): Promise<void> {
  const opened = await open(connectionString, schema)
  try {
    await opened.admit([eventOf('m')], Date.now())
    const claims = await claim(opened)
    expect(namesOf(claims)).toEqual(['m'])
    expect(await opened.settle(claims.map(done), Date.now())).toEqual([true])
    await opened.prune(Date.now())
  } finally {
    await opened.close()
  }
}

describePostgres('a role that lacks a privilege', () => {
  test('CREATE on the database, when the schema is missing', TIMEOUT, async () => {
    const schema = freshSchema()
    const { role, connectionString } = await bareRole()
    const error = await failureOf(open(connectionString, schema))
    expect(error.code).toBe('store_unmigrated')
    expect(error.message).toContain(`The role "${role}" lacks CREATE on the database "${DATABASE}".`)
    expect(grantsIn(error)).toEqual([`GRANT CREATE ON DATABASE "${DATABASE}" TO "${role}";`])
    await rowsOf(grantsIn(error).join(''))
    await works(connectionString, schema)
  })

  test('CREATE on the schema, when only the schema exists', TIMEOUT, async () => {
    const schema = freshSchema()
    const { role, connectionString } = await bareRole()
    await rowsOf(`CREATE SCHEMA "${schema}"`)
    const error = await failureOf(open(connectionString, schema))
    expect(error.code).toBe('store_unmigrated')
    expect(error.message).toContain(`The role "${role}" lacks CREATE, USAGE on the schema "${schema}".`)
    expect(grantsIn(error)).toEqual([`GRANT CREATE, USAGE ON SCHEMA "${schema}" TO "${role}";`])
    await rowsOf(grantsIn(error).join(''))
    await works(connectionString, schema)
  })

  test('USAGE on the schema, and then the privileges of its tables', TIMEOUT, async () => {
    const schema = freshSchema()
    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    const { role, connectionString } = await bareRole()
    const error = await failureOf(open(connectionString, schema))
    expect(error.code).toBe('store_forbidden')
    expect(error.message).toContain(`USAGE on the schema "${schema}"`)
    expect(error.message).toContain('SELECT, INSERT, UPDATE, DELETE on payloads')
    expect(grantsIn(error)).toEqual([
      `GRANT USAGE ON SCHEMA "${schema}" TO "${role}";`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${role}";`,
    ])
    // A read-only store reports the same.
    expect((await failureOf(pendingPostgresMigrations({ connectionString, schema }))).message).toBe(error.message)
    await rowsOf(grantsIn(error).join(''))
    await works(connectionString, schema)
  })

  test(
    'a missing privilege on one table stops a dispatching store from opening, and is reported to one that only accepts',
    TIMEOUT,
    async () => {
      const schema = freshSchema()
      await migratePostgres({ connectionString: POSTGRES_URL, schema })
      const { role, connectionString } = await bareRole()
      await rowsOf(`
      GRANT USAGE ON SCHEMA "${schema}" TO "${role}";
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${role}";
      REVOKE INSERT ON "${schema}".payloads FROM "${role}"`)
      const error = await failureOf(open(connectionString, schema))
      expect(error.code).toBe('store_forbidden')
      expect(error.message).toContain(`The role "${role}" lacks INSERT on payloads.`)

      const reports: MessagingWebhooksError[] = []
      const taking = await open(connectionString, schema, {
        onWork() {},
        report: (reported) => void reports.push(reported),
        claims: false,
      })
      onTestFinished(async () => taking.close())
      expect(reports.map(({ message }) => message)).toEqual([error.message])
      // Reading still works.
      expect(await taking.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
      const refused = await failureOf((async () => taking.admit([eventOf('m')], Date.now()))())
      expect(refused).toMatchObject({
        code: 'store_forbidden',
        cause: { message: expect.stringContaining('payloads') as string },
      })
      await rowsOf(grantsIn(error).join(''))
      await works(connectionString, schema)
    },
  )

  test('a role needs exactly the statements of the guide', TIMEOUT, async () => {
    const schema = freshSchema()
    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    const { role, connectionString } = await bareRole()
    const guide = readFileSync(new URL('../../../docs/guides/store-postgres.md', import.meta.url), 'utf8')
    const [, statements = ''] = /```sql\n([^`]*GRANT[^`]*)```/.exec(guide) ?? []
    const filled = statements.replaceAll('messaging_webhooks', `"${schema}"`).replaceAll(/\bapp\b/g, `"${role}"`)
    expect(filled).toContain(`"${schema}"`)
    await rowsOf(filled)
    await works(connectionString, schema)
  })
})
