/** Several hosts in one address, and a server that accepts no writes. See also postgres-failover.full.test.ts. */
import { MessagingWebhooksError } from 'messaging-webhooks'
import { migratePostgres, postgresStore } from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { addressesIn, createHosts } from '../../../src/stores/postgres/hosts.ts'
import { freePort } from '../../support/free-port.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { admit, claim, eventOf, namesOf, opened, settleAll } from './events.ts'
import { describePostgres, freshRole, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

test('splits an address into one for each host', () => {
  const one = 'postgres://app:a%2Cb@db.example:5432/app?sslmode=verify-full'
  expect(addressesIn(one)).toEqual([one])
  expect(addressesIn('postgresql://app:p%40ss@first,second:6432,[::1]:7432/app?x=1,2')).toEqual([
    'postgresql://app:p%40ss@first/app?x=1,2',
    'postgresql://app:p%40ss@second:6432/app?x=1,2',
    'postgresql://app:p%40ss@[::1]:7432/app?x=1,2',
  ])
  expect(addressesIn('postgres://first,second/app')).toEqual(['postgres://first/app', 'postgres://second/app'])
  expect(addressesIn('/var/run/postgresql app')).toEqual(['/var/run/postgresql app'])
})

test('callers that fail at the same host move on once', () => {
  const hosts = createHosts('postgres://first,second/app')
  hosts.leave('postgres://first/app')
  hosts.leave('postgres://first/app')
  expect(hosts.current()).toBe('postgres://second/app')
  hosts.leave('postgres://second/app')
  expect(hosts.current()).toBe('postgres://first/app')
})

describePostgres('hosts', () => {
  test('skips a host that refuses connections, wherever it is in the list', { timeout: 60_000 }, async () => {
    const { host } = new URL(POSTGRES_URL)
    const refusing = `127.0.0.1:${await freePort()}`
    for (const hosts of [`${refusing},${host}`, `${host},${refusing}`]) {
      const connectionString = POSTGRES_URL.replace(`@${host}`, `@${hosts}`)
      const open = await opened(postgresStore({ connectionString, schema: freshSchema() }))
      expect(await admit(open, [eventOf('m')])).toEqual(['new'])
    }
  })

  test('a server that accepts no writes counts as unavailable, and blames no event', { timeout: 60_000 }, async () => {
    const schema = freshSchema()
    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    const address = new URL(await freshRole(schema))
    const proxy = await startTcpProxy(Number(address.port || '5432'))
    onTestFinished(() => proxy.close())
    address.host = `127.0.0.1:${proxy.port}`
    const open = await opened(postgresStore({ connectionString: address.href, schema }))
    await admit(open, [eventOf('before')])

    const role = `${schema}_role`
    await rowsOf(`ALTER ROLE "${role}" SET default_transaction_read_only = on`)
    proxy.cut()
    const admitting = () => admit(open, [eventOf('meanwhile')])
    // The first caller may get the connection that was cut.
    await admitting().catch(() => {})
    await expect(admitting()).rejects.toThrow(MessagingWebhooksError)
    await expect(claim(open)).rejects.toMatchObject({ code: 'store_failed' })

    await rowsOf(`ALTER ROLE "${role}" RESET default_transaction_read_only`)
    // The store did not keep its connections.
    await expect.poll(admitting, { timeout: 30_000 }).toEqual(['new'])
    const claims = await claim(open, { limit: 10 })
    expect(namesOf(claims)).toEqual(['before', 'meanwhile'])
    expect(await settleAll(open, claims)).toEqual([true, true])
  })
})
