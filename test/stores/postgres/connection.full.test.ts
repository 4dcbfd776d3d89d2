/** Connections that are silent, cut, refused, encrypted, idle, or of a role that would lose commits. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { migratePostgres, postgresStore } from 'messaging-webhooks/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../../support/certificate.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { startPostgres } from '../../support/servers/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { runProgram } from '../../support/program.ts'
import { SHORT_MS, testHeldAdmission, testHeldRetry } from '../held-back-writes.ts'
import { testLostLeases } from '../lost-leases.ts'
import { admit, eventOf, hostOf, observer, opened } from './events.ts'
import { checkRefusedEvent, REFUSED } from '../refused-event.ts'
import { CONNECTIONS, QUERY_TIMEOUT_MS, SLOW_S, testSlowStatements } from '../slow-statements.ts'
import { describePostgres, freshSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const POLL = { timeout: 60_000 }
const TIMEOUT = { timeout: 120_000 }

async function throughProxy(): Promise<{ readonly proxy: TcpProxy; readonly url: string }> {
  const address = new URL(POSTGRES_URL)
  const proxy = await startTcpProxy(Number(address.port || 5432))
  onTestFinished(() => proxy.close())
  address.hostname = '127.0.0.1'
  address.port = String(proxy.port)
  return { proxy, url: address.href }
}

describePostgres('connection', () => {
  testLostLeases(async () => {
    const { proxy, url } = await throughProxy()
    const schema = freshSchema()
    return {
      store: postgresStore({ connectionString: url, schema }),
      direct: postgresStore({ connectionString: POSTGRES_URL, schema }),
      cutAdmission: () => proxy.cutAfterSending('mw_insert'),
      cutLease: () => proxy.cutAfterSending('mw_update'),
    }
  })

  for (const [testHeld, bytes] of [
    [testHeldAdmission, 'mw_insert'],
    [testHeldRetry, 'mw_update'],
  ] as const)
    testHeld('a store', async () => {
      const { proxy, url } = await throughProxy()
      const schema = freshSchema()
      return {
        store: postgresStore({ connectionString: url, schema, queryTimeoutMs: SHORT_MS }),
        direct: postgresStore({ connectionString: POSTGRES_URL, schema }),
        holdBack: () => proxy.holdBack(bytes),
      }
    })

  test('detects a silent listening connection, reports it once, and replaces it', TIMEOUT, async () => {
    const { proxy, url } = await throughProxy()
    let woken = 0
    const schema = freshSchema()
    const errors: MessagingWebhooksError[] = []
    const store = postgresStore({
      connectionString: POSTGRES_URL,
      schema,
      listenConnectionString: url,
      probeIntervalMs: 500,
      connectTimeoutMs: 2_000,
      pollIntervalMs: 3_600_000,
    })
    const open = await opened(store, { onWork: () => void (woken += 1), report: (error) => void errors.push(error) })
    await expect.poll(() => woken, POLL).toBe(1)
    proxy.mode = 'stalls'
    // The store receives no notification, so it polls, and reports that.
    await expect.poll(() => errors.map(({ code }) => code), POLL).toEqual(['store_polling'])
    expect(woken).toBeGreaterThan(1)
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(errors.length).toBe(1)
    proxy.cut()
    proxy.mode = 'passes'
    const other = await observer(postgresStore({ connectionString: POSTGRES_URL, schema }))
    // Once the connection receives again, the store stops polling and another store's admission wakes it.
    let quiet = woken
    await expect
      .poll(
        async () => {
          const before = quiet
          quiet = woken
          return before === quiet
        },
        { ...POLL, interval: 2_500 },
      )
      .toBe(true)
    await admit(other, [eventOf('m')])
    await expect.poll(() => woken, POLL).toBeGreaterThan(quiet)
    expect(await open.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
  })

  test(
    'a commit reaches the disk even if the session, the role or the server would not wait for it',
    TIMEOUT,
    async () => {
      const server = await startPostgres()
      onTestFinished(() => server.remove())
      const url = server.url()
      const pool = new pg.Pool({ connectionString: url, max: 1, options: '-c synchronous_commit=off' })
      const usual = new pg.Pool({ connectionString: url, max: 1 })
      onTestFinished(() => pool.end())
      onTestFinished(() => usual.end())
      const stores = [{ pool }, { pool: usual }, { connectionString: url, maxConnections: 1 }]
      for (const [index, place] of stores.entries()) {
        const schema = `durable_${index}`
        const open = await observer(postgresStore({ ...place, schema }))
        // A trigger that runs at the commit reads the setting it is committed with.
        const see = `
      CREATE TABLE ${schema}.seen (level text);
      CREATE FUNCTION ${schema}.see() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO ${schema}.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER see AFTER INSERT ON ${schema}.payloads DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION ${schema}.see()`
        await onServer((client) => client.query(see), url)
        await admit(open, [eventOf('before')])
        // While it is open.
        if (place.pool !== undefined) await place.pool.query('SET synchronous_commit = off')
        else
          await onServer(async (client) => {
            await client.query('ALTER SYSTEM SET synchronous_commit = off')
            await client.query('SELECT pg_reload_conf()')
          }, url)
        await expect
          .poll(
            async () => (await onServer((client) => client.query<object>('SHOW synchronous_commit'), url)).rows,
            POLL,
          )
          .toEqual([{ synchronous_commit: place.pool === undefined ? 'off' : 'on' }])
        await admit(open, [eventOf('after')])
        await open.close()
        const seen = await onServer((client) => client.query<{ level: string }>(`SELECT * FROM ${schema}.seen`), url)
        expect(seen.rows).toEqual([{ level: 'on' }, { level: 'on' }])
        if (place.pool !== undefined)
          expect((await place.pool.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }])
      }
    },
  )

  test('waits for a locked table no longer than lockTimeoutMs, and blames no event', TIMEOUT, async () => {
    const schema = freshSchema()
    const open = await observer(postgresStore({ connectionString: POSTGRES_URL, schema, lockTimeoutMs: 200 }))
    await onServer(async (client) => {
      await client.query(`BEGIN; LOCK TABLE "${schema}".records IN ACCESS EXCLUSIVE MODE`)
      await expect(admit(open, [eventOf('m')])).rejects.toMatchObject({
        code: 'store_failed',
        cause: { message: expect.stringContaining('55P03') as string },
      })
    })
    expect(await admit(open, [eventOf('m')])).toEqual(['new'])
  })

  test.each([
    ['the own pool of a transactional store', undefined],
    ['a pool of the application', {}],
    ['a pool of the application with a pipeline', { pipeline: true }],
  ])('a lock timeout leaves no failed transaction on a connection of %s', TIMEOUT, async (_, pooled) => {
    const schema = freshSchema()
    const max = 3
    const pool = pooled && new pg.Pool({ connectionString: POSTGRES_URL, max, ...pooled })
    onTestFinished(() => pool?.end())
    const place =
      pool === undefined ? { connectionString: POSTGRES_URL, maxConnections: max, transactional: true } : { pool }
    const codes: string[] = []
    const report = ({ code }: MessagingWebhooksError): void => void codes.push(code)
    const open = await opened(postgresStore({ ...place, schema, lockTimeoutMs: 200 }), { report, claims: false })
    const messages = Array.from({ length: max }, (_unused, index) => `m${index}`)
    await admit(
      open,
      messages.map((message) => eventOf(message)),
    )
    let closed = 0
    pool?.on('remove', () => (closed += 1))
    // Of a known and of a new message, which two statements write.
    const write = () =>
      Promise.allSettled(messages.map((message) => admit(open, [eventOf(message, 2), eventOf(`${message} new`)])))
    await onServer(async (client) => {
      await client.query(`BEGIN; LOCK TABLE "${schema}".records IN SHARE MODE`)
      const startedMs = performance.now()
      expect(await write()).toMatchObject(
        messages.map(() => ({
          reason: { code: 'store_failed', cause: { message: expect.stringContaining('55P03') as string } },
        })),
      )
      expect(performance.now() - startedMs).toBeLessThan(8_000)
      if (pool !== undefined) await Promise.all(messages.map(() => pool.query('SELECT 1')))
    })
    expect(await write()).toEqual(messages.map(() => ({ status: 'fulfilled', value: ['new', 'new'] })))
    expect(codes).toEqual([])
    expect(closed).toBe(0)
  })

  for (const [of, pooled] of [
    ['its own pool', undefined],
    ['a pool of the application', {}],
    ['a pool of the application with a pipeline', { pipeline: true }],
  ] as const)
    testSlowStatements(of, () => {
      const schema = freshSchema()
      const pool = pooled && new pg.Pool({ connectionString: POSTGRES_URL, max: CONNECTIONS, ...pooled })
      onTestFinished(() => pool?.end())
      const place = pool === undefined ? { connectionString: POSTGRES_URL, maxConnections: CONNECTIONS } : { pool }
      const slow = `
        CREATE FUNCTION "${schema}".slow() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM pg_sleep(${SLOW_S}); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE INSERT ON "${schema}".records FOR EACH ROW EXECUTE FUNCTION "${schema}".slow()`
      return {
        store: postgresStore({ ...place, schema, queryTimeoutMs: QUERY_TIMEOUT_MS }),
        async slowDown() {
          await rowsOf(slow)
          return () => rowsOf(`DROP FUNCTION "${schema}".slow CASCADE`)
        },
        query: pool && (() => pool.query('SELECT 1')),
      }
    })

  test.each([
    ['its own pool', undefined],
    ['a pool of the application', {}],
    ['a pool of the application with a pipeline', { pipeline: true }],
  ])('closes a connection of %s that fell silent', TIMEOUT, async (_, pooled) => {
    const { proxy, url } = await throughProxy()
    const pool = pooled && new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 500, ...pooled })
    const place = pool === undefined ? { connectionString: url, maxConnections: 1 } : { pool }
    const open = await observer(postgresStore({ ...place, schema: freshSchema(), queryTimeoutMs: 300 }))
    await admit(open, [eventOf('before')])
    proxy.mode = 'stalls'
    // Another call may have the connection, or wait for it first.
    await expect(admit(open, [eventOf('meanwhile')])).rejects.toThrow(/\bstore_(slow|failed)\b/)
    await expect.poll(() => proxy.connections, { ...POLL, interval: 20 }).toBe(0)
    proxy.mode = 'passes'
    await expect.poll(() => admit(open, [eventOf('after')]).catch(() => 'failed'), POLL).toEqual(['new'])
    await open.close()
    await pool?.end()
  })

  test('an event that the database refuses for its data does not affect its neighbours', TIMEOUT, async () => {
    const schema = freshSchema()
    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    await rowsOf(
      `ALTER TABLE "${schema}".payloads ADD CHECK (position('${REFUSED}' IN convert_from(event, 'UTF8')) = 0)`,
    )
    await checkRefusedEvent(postgresStore({ connectionString: POSTGRES_URL, schema }))
  })
})

describePostgres('encryption', () => {
  test(
    'the sslmode of an address decides how the connection is encrypted and which servers it trusts',
    TIMEOUT,
    async () => {
      const made = makeCertificate()
      if (made === undefined) throw new Error('openssl is not installed.')
      const certificate = join(ownFolder(), 'certificate.pem')
      writeFileSync(certificate, made.cert)
      const server = await startPostgres({ tls: { key: made.key, certificate: made.cert } })
      onTestFinished(() => server.remove())
      const encrypted = async (query: string): Promise<unknown> => {
        const open = await postgresStore({ connectionString: server.url({ query }) }).open(hostOf())
        try {
          return await onServer(
            async (client) =>
              (
                await client.query<{
                  ssl: boolean
                }>(`SELECT bool_and(s.ssl) AS ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
              WHERE a.application_name = 'messaging-webhooks'`)
              ).rows,
            server.url({ query: '?sslmode=no-verify' }),
          )
        } finally {
          await open.close()
        }
      }
      for (const query of ['?sslmode=no-verify', '?uselibpqcompat=true&sslmode=require'])
        expect(await encrypted(query)).toEqual([{ ssl: true }])
      expect(await encrypted(`?sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate)}`)).toEqual([
        { ssl: true },
      ])
      await expect(encrypted('?sslmode=verify-full')).rejects.toMatchObject({ code: 'store_failed' })
      await expect(encrypted('?sslmode=disable')).rejects.toMatchObject({ code: 'store_failed' })
    },
  )
})

test('without pg the error names the command that installs it', TIMEOUT, async () => {
  const program = new URL('./programs/without-pg.ts', import.meta.url).pathname
  const { stdout } = await runProgram(process.execPath, [program])
  expect(stdout).toContain('peer_missing')
  expect(stdout).toContain('npm install pg')
})
