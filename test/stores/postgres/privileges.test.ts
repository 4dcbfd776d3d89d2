/** The privileges that a role needs: without one of them, opening the store fails and names the table. */
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { migratePostgres, postgresStore } from 'messaging-webhooks/postgres'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { admit, claim, eventOf, hostOf, opened, settleAll } from './events.ts'
import { describePostgres, freshRole, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const TIMEOUT = { timeout: 60_000 }

async function migrated(): Promise<string> {
  const schema = freshSchema()
  await migratePostgres({ connectionString: POSTGRES_URL, schema })
  return schema
}

/** A role with the privileges that the statements of the guide grant. */
async function roleOfTheGuide(schema: string): Promise<string> {
  const connectionString = await freshRole(schema)
  const guide = readFileSync(new URL('../../../docs/guides/store-postgres.md', import.meta.url), 'utf8')
  const [, statements = ''] = /```sql\n([^`]*GRANT[^`]*)```/.exec(guide) ?? []
  const filled = statements.replaceAll('messaging_webhooks', `"${schema}"`)
  const role = `"${schema}_role"`
  await rowsOf(`DROP OWNED BY ${role}; ${filled.replaceAll(/\bapp\b/g, role)}`)
  return connectionString
}

describePostgres('privileges', () => {
  test('those of the guide are enough', TIMEOUT, async () => {
    const schema = await migrated()
    const connectionString = await roleOfTheGuide(schema)
    const open = await opened(postgresStore({ connectionString, schema, maxConnections: 2 }))
    await admit(open, [eventOf('m')])
    expect(await settleAll(open, await claim(open))).toEqual([true])
    await open.due({ of: 'retention', limit: 10 })
    expect(await open.run([{ do: 'expire', key: eventOf('m').messageKey }])).toEqual(['kept'])
  })

  test.each(['SELECT', 'INSERT', 'UPDATE', 'DELETE'])('without %s on a table', TIMEOUT, async (privilege) => {
    const schema = await migrated()
    const connectionString = await roleOfTheGuide(schema)
    await rowsOf(`REVOKE ${privilege} ON "${schema}".payloads FROM "${schema}_role"`)
    const lacking = {
      code: 'store_forbidden',
      cause: { message: expect.stringContaining('permission denied for table payloads') as string },
    }
    const store = postgresStore({ connectionString, schema, maxConnections: 2 })
    await expect(Promise.resolve(store.open(hostOf()))).rejects.toMatchObject(lacking)
    const reports: MessagingWebhooksError[] = []
    const open = await store.open(hostOf({ claims: false, report: (error) => void reports.push(error) }))
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    await open.close()
    expect(reports).toMatchObject([lacking])
  })

  test('without CREATE and without tables, and without USAGE', TIMEOUT, async () => {
    const schema = freshSchema()
    await rowsOf(`CREATE SCHEMA "${schema}"`)
    const connectionString = await freshRole(schema)
    const opening = async () => postgresStore({ connectionString, schema }).open(hostOf())
    const cause = { message: expect.stringContaining('permission denied for schema') as string }
    await expect(opening()).rejects.toMatchObject({ code: 'store_unmigrated', cause })
    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    await rowsOf(`REVOKE USAGE ON SCHEMA "${schema}" FROM "${schema}_role"`)
    await expect(opening()).rejects.toMatchObject({ code: 'store_forbidden', cause })
  })
})
