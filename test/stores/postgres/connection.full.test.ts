/** Connections that are silent, cut, refused, encrypted, idle, or of a role that would lose commits. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { postgresStore, type PostgresStoreOptions } from 'messaging-webhooks/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../../support/certificate.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { startPostgres } from '../../support/servers/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { runProgram } from '../../support/program.ts'
import { done, eventOf, namesOf } from './events.ts'
import { checkRefusedEvent, REFUSED } from '../refused-event.ts'
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

async function opened(
  options: Partial<PostgresStoreOptions> & { readonly connectionString: string },
  onWork = () => {},
) {
  const schema = options.schema ?? freshSchema()
  const errors: MessagingWebhooksError[] = []
  const open = await postgresStore({ schema, ...options }).open({ onWork, report: (error) => void errors.push(error) })
  onTestFinished(() => open.close())
  return { open, schema, errors }
}

describePostgres('connection', () => {
  test(
    'releases what a claim or an admission leased when its answer was lost, and keeps what is in flight',
    TIMEOUT,
    async () => {
      const { proxy, url } = await throughProxy()
      let woken = 0
      const { open, schema } = await opened({ connectionString: url }, () => (woken += 1))
      const [inFlight, first, second] = ['in flight', 'first', 'second'].map((message) => eventOf(message))
      if (inFlight === undefined || first === undefined || second === undefined) return expect.unreachable()
      const nowMs = Date.now()
      const ask = { limit: 10, nowMs, leaseUntilMs: nowMs + 3_600_000, exclude: new Set<string>() }
      const { claims: held } = (await open.admitAndClaim?.([inFlight], ask)) ?? { claims: [] }
      expect(namesOf(held)).toEqual(['in flight'])

      const admitting = proxy.cutAfterSending('.records (number')
      await expect(async () => open.admitAndClaim?.([first], ask)).rejects.toMatchObject({ code: 'store_failed' })
      await admitting
      await expect.poll(() => woken, POLL).toBeGreaterThan(0)
      const exclude = new Set([inFlight.messageKey])
      await open.admit([second], nowMs)
      // The write of two leases; a write of one takes back what was lost before.
      const claiming = proxy.cutAfterSending("'{0,1}'::integer[]")
      await expect(async () => open.claim({ ...ask, exclude })).rejects.toMatchObject({ code: 'store_failed' })
      await claiming
      expect(await rowsOf(`SELECT count(*)::int AS held FROM ${schema}.due WHERE worker IS NOT NULL`)).toEqual([
        { held: 3 },
      ])

      const { claims } = await open.claim({ ...ask, exclude })
      expect(namesOf(claims)).toEqual(['first', 'second'])
      // No handler has run what no process received, so it does not count.
      const attempts = new Map(claims.map(({ record, attempt }) => [record.report?.messageId, attempt]))
      expect(attempts).toEqual(new Map(Object.entries({ first: 1, second: 1 })))
      // Each answer that arrived since is known to be in flight.
      expect((await open.claim({ ...ask, exclude })).claims).toEqual([])
      expect(await open.settle([...held, ...claims].map(done), nowMs)).toEqual([true, true, true])
    },
  )

  test('detects a silent listening connection, reports it once, and replaces it', TIMEOUT, async () => {
    const { proxy, url } = await throughProxy()
    let woken = 0
    const { open, schema, errors } = await opened(
      {
        connectionString: POSTGRES_URL,
        listenConnectionString: url,
        probeIntervalMs: 500,
        connectTimeoutMs: 2_000,
        pollIntervalMs: 3_600_000,
      },
      () => void (woken += 1),
    )
    await expect.poll(() => woken, POLL).toBe(1)
    proxy.mode = 'stalls'
    // The store receives no notification, so it polls, and reports that.
    await expect.poll(() => errors.map(({ code }) => code), POLL).toEqual(['store_deaf'])
    expect(woken).toBeGreaterThan(1)
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(errors.length).toBe(1)
    proxy.cut()
    proxy.mode = 'passes'
    const other = await opened({ connectionString: POSTGRES_URL, schema })
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
    await other.open.admit([eventOf('m')], Date.now())
    await expect.poll(() => woken, POLL).toBeGreaterThan(quiet)
    expect(await open.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
  })

  test('a commit reaches the disk even if the role would not wait for it', TIMEOUT, async () => {
    const schema = freshSchema()
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 1, options: '-c synchronous_commit=off' })
    onTestFinished(() => pool.end())
    const open = await postgresStore({ pool, schema }).open({ onWork() {}, claims: false })
    // A trigger that runs at the commit reads the setting it is committed with.
    await rowsOf(`
      CREATE TABLE "${schema}".seen (level text);
      CREATE FUNCTION "${schema}".see() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO "${schema}".seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER see AFTER INSERT ON "${schema}".payloads DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION "${schema}".see()`)
    await open.admit([eventOf('m')], Date.now())
    await open.close()
    expect(await rowsOf(`SELECT * FROM "${schema}".seen`)).toEqual([{ level: 'on' }])
    expect((await pool.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }])
  })

  test('waits for a locked table no longer than lockTimeoutMs, and blames no event', TIMEOUT, async () => {
    const { open, schema } = await opened({ connectionString: POSTGRES_URL, lockTimeoutMs: 200 })
    await onServer(async (client) => {
      await client.query(`BEGIN; LOCK TABLE "${schema}".records IN ACCESS EXCLUSIVE MODE`)
      await expect(Promise.resolve(open.admit([eventOf('m')], Date.now()))).rejects.toMatchObject({
        code: 'store_failed',
        cause: { message: expect.stringContaining('55P03') as string },
      })
    })
    expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
  })

  test('an event that the database refuses for its data does not affect its neighbours', TIMEOUT, async () => {
    const schema = freshSchema()
    const { open: checking } = await opened({ connectionString: POSTGRES_URL, schema })
    expect(await checking.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
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
        const open = await postgresStore({ connectionString: server.url({ query }) }).open({ onWork() {} })
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
