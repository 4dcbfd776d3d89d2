/** Rejects settings that cannot work before anything is opened. */
import { Redis } from 'ioredis'
import { OptionsError } from 'messaging-webhooks'
import { redisStore, type RedisClient } from 'messaging-webhooks/redis'
import { createClient, createClientPool, createSentinel } from 'redis'
import { hostOf } from '../../support/stores.ts'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'

const client = createClient()

test.each([undefined, null, 'redis://localhost', {}, { isOpen: true }])(
  'rejects a value that is not a client, and names the packages to install: %o',
  (given: unknown) => {
    // As JavaScript may call it.
    const any = given as RedisClient
    expect(() => redisStore({ client: any })).toThrow('npm install redis')
    if (given !== undefined) expect(() => redisStore({ client, subscriber: any })).toThrow('subscriber')
  },
)

test('accepts clients of both packages, by type and by shape', () => {
  const lazy = new Redis({ lazyConnect: true })
  expect(redisStore({ client: lazy }).capabilities).toEqual(redisStore({ client }).capabilities)
})

test('rejects clients that would be misunderstood', () => {
  const sentinel: unknown = createSentinel({ name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] })
  const pool: unknown = createClientPool()
  for (const given of [sentinel, pool]) expect(() => redisStore({ client: given as RedisClient })).toThrow(OptionsError)
})

test.each([
  ['4', { sendCommand() {}, isOpen: false, isReady: false, commandOptions() {} }],
  ['4', { sendCommand() {}, isOpen: false, masters: [] }],
  ['3', { sendCommand() {}, internal_send_command() {} }],
])('refuses a client of redis %s, whose replies are not bytes', (version, old: unknown) => {
  const refused = {
    code: 'peer_unsupported',
    message: expect.stringMatching(new RegExp(`client of redis ${version}; .*Run: npm install redis@5`)) as string,
  }
  expect(() => redisStore({ client: old as RedisClient })).toThrow(expect.objectContaining(refused))
})

test('closing a store does not wait for an unavailable server', { timeout: 120_000 }, async () => {
  const unavailable = createClient({ url: 'redis://127.0.0.1:1', socket: { reconnectStrategy: 50 } })
  const store = redisStore({ client: unavailable, commandTimeoutMs: 200 })
  const opening = async (): Promise<string> =>
    Promise.resolve(store.open(hostOf())).then(
      () => 'opened',
      (error: unknown) => inspect(error),
    )
  // A busy machine may take longer than that to refuse a connection.
  await expect.poll(opening, { timeout: 60_000 }).toMatch(/could not be reached[^]*ECONNREFUSED/)
  expect(unavailable.isOpen).toBe(false)
})
