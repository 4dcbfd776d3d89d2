/** The application's pool hands out a connection on which other code has left a transaction. */
import pg from 'pg'
import { postgresStore } from 'messaging-webhooks/postgres'
import type { ErrorCode } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, eventOf, observer, opened, settleAll } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL } from './schema.ts'

describePostgres('a transaction that other code has left', () => {
  test.each([
    ['open', []],
    ['failed', ['SELECT 1 / 0']],
  ] as const)('%s: the connection is closed, and nothing is written in it', async (_, statements) => {
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 1 })
    onTestFinished(() => pool.end())
    async function leaveTransaction(): Promise<void> {
      const client = await pool.connect()
      await client.query('BEGIN')
      for (const statement of statements) await client.query(statement).catch(() => {})
      client.release()
    }
    const schema = freshSchema()
    const codes: ErrorCode[] = []
    const report = ({ code }: { readonly code: ErrorCode }): void => void codes.push(code)
    await leaveTransaction()
    const open = await opened(postgresStore({ pool, schema, pollIntervalMs: 3_600_000 }), { report, claims: false })
    expect(codes).toEqual(['store_pool_transaction'])
    await leaveTransaction()
    expect(await admit(open, [eventOf('m')])).toEqual(['new'])
    expect(codes).toEqual(['store_pool_transaction', 'store_pool_transaction'])
    const other = await observer(postgresStore({ connectionString: POSTGRES_URL, schema }))
    expect(await other.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
    await leaveTransaction()
    expect(await settleAll(open, await claim(open))).toEqual([true])
    expect(await other.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })
})
