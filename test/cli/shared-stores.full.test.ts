/** `dead-letters` as a process, on the stores that several machines share; each has a schema or a prefix of its own. */
import { createReceiver, type Store } from 'messaging-webhooks'
import { migrateMysql, mysqlStore } from 'messaging-webhooks/mysql'
import { migratePostgres, postgresStore } from 'messaging-webhooks/postgres'
import { redisStore } from 'messaging-webhooks/redis'
import { callback, deliver } from 'messaging-webhooks/testing'
import { createClient } from 'redis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import {
  describeMysql,
  freshPrefix as freshPrefixOfTables,
  MYSQL_URL,
  rowsOf as rowsOfMysql,
} from '../stores/mysql/database.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from '../stores/postgres/schema.ts'
import { useCluster } from '../stores/redis/own-cluster.ts'
import { clusterClientFor, freshPrefix, describeRedis, useRedis } from '../stores/redis/own-redis.ts'
import { AUTH_KEY, jsonLines, POLL, runCli, SIGNING_SECRET } from './cli.ts'
import { without } from './without-packages.ts'

const TIMEOUT = { timeout: 180_000 }
const credentials = { signingSecret: SIGNING_SECRET, authKey: AUTH_KEY }

/** A store on a server: the receiver's options and the command line's arguments for it. */
interface Shared {
  readonly store: () => Store
  readonly url: string
  readonly flags: readonly string[]
  /** Secrets that must not be printed. */
  readonly password?: string
}

/** The environment, for a URL that has a password in it. */
type Env = NodeJS.ProcessEnv

function running(store: Store) {
  const receiver = createReceiver({ credentials, store, retry: { attempts: 1 }, spool: false, logger: false })
  onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
  return receiver
}

/** Makes a dead letter for each id, replays one while a receiver runs and dispatches it, and discards another. */
async function worksOn({ store, url, flags, password }: Shared, env: Env = {}): Promise<void> {
  const receiver = running(store())
  const replayed: string[] = []
  receiver.on('message.failed', ({ messageId }, { replay }) => {
    if (!replay) throw new Error(`no luck with ${messageId}`)
    replayed.push(messageId)
  })
  for (const messageId of ['m-1', 'm-2', 'm-3']) {
    const body = callback.smsDelivery({ messageId, status: 'network_failure' })
    expect((await deliver(receiver.middleware('status'), body, credentials)).status).toBe(204)
  }
  expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)

  const run = (...args: readonly string[]) => runCli(['dead-letters', ...args, ...flags], { ...env, STORE_URL: url })
  const list = await run('list', '--json')
  expect({ code: list.code, stderr: list.stderr }).toEqual({ code: 0, stderr: '' })
  const letters = jsonLines(list.stdout)
  const idOf = (messageId: string): string =>
    String(letters.find(({ event }) => JSON.stringify(event).includes(`"${messageId}"`))?.['id'])
  expect(letters).toHaveLength(3)
  expect(list.stdout).not.toContain(AUTH_KEY)

  const show = await run('show', idOf('m-2'))
  expect(show.stdout).toContain('"messageId": "m-2"')
  expect(show.stdout).toContain('Error: no luck with m-2')

  expect((await run('replay', idOf('m-2'))).stdout).toBe('1 dead letter due again.\n')
  await expect.poll(() => replayed, POLL).toEqual(['m-2'])
  expect(await run('discard', idOf('m-1'))).toEqual({ code: 0, stdout: '1 dead letter discarded.\n', stderr: '' })
  const rest = await run('list')
  expect(rest.stdout).toMatch(/^\w+ {2}\S+Z {2}message\.failed {2}m-3 {2}1 attempts {2}Error: no luck with m-3\n$/)
  expect((await run('show', idOf('m-1'))).code).toBe(EXIT_CODES.notFound.code)
  if (password !== undefined) expect(JSON.stringify([list, show, rest])).not.toContain(password)
}

describePostgres('dead-letters on Postgres', () => {
  test('list, show, replay and discard', TIMEOUT, async () => {
    const schema = freshSchema()
    const url = POSTGRES_URL.replace(/^postgres:/, 'postgresql:')
    const store = (): Store => postgresStore({ connectionString: POSTGRES_URL, schema })
    await worksOn({ store, url, flags: ['--schema', schema] })
  })

  test('does not create missing tables, or change old ones', TIMEOUT, async () => {
    const schema = freshSchema()
    const list = ['dead-letters', 'list', '--store', POSTGRES_URL, '--schema', schema]
    const none = await runCli(list)
    expect(none).toMatchObject({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(none.stderr).toBe(
      'error: The database has no tables of this package.\nCheck --schema, or run: messaging-webhooks migrate\n',
    )
    expect(await rowsOf(`SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`)).toEqual([])
    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    expect(await runCli(list)).toEqual({ code: 0, stdout: '', stderr: 'There are no dead letters.\n' })
    await rowsOf(`INSERT INTO "${schema}".messaging_webhooks_migrations (version) VALUES (1000)`)
    const newer = await runCli(list)
    expect(newer.code).toBe(EXIT_CODES.failed.code)
    expect(newer.stderr).toContain('newer version of this package')
  })
})

describeMysql('dead-letters on MySQL', () => {
  test('list, show, replay and discard', TIMEOUT, async () => {
    const prefix = freshPrefixOfTables()
    const store = (): Store => mysqlStore({ uri: MYSQL_URL, prefix, pollIntervalMs: 200 })
    const { password } = new URL(MYSQL_URL)
    await worksOn({ store, url: MYSQL_URL, flags: ['--prefix', prefix], password })
  })

  test('does not create missing tables, or change newer ones', TIMEOUT, async () => {
    const prefix = freshPrefixOfTables()
    const list = ['dead-letters', 'list', '--prefix', prefix]
    const env = { STORE_URL: MYSQL_URL }
    const none = await runCli(list, env)
    expect(none).toMatchObject({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(none.stderr).toBe(
      'error: The database has no tables of this package.\nCheck --prefix, or run: messaging-webhooks migrate\n',
    )
    await migrateMysql({ uri: MYSQL_URL, prefix })
    expect(await runCli(list, env)).toEqual({ code: 0, stdout: '', stderr: 'There are no dead letters.\n' })
    await rowsOfMysql(`INSERT INTO \`${prefix}_migrations\` (version) VALUES (1000)`)
    const newer = await runCli(list, env)
    expect(newer.code).toBe(EXIT_CODES.failed.code)
    expect(newer.stderr).toContain('newer version of this package')
  })

  test('the other commands open the store too', TIMEOUT, async () => {
    const prefix = freshPrefixOfTables()
    const store = (): Store => mysqlStore({ uri: MYSQL_URL, prefix })
    const receiver = running(store())
    await deliver(receiver.middleware('status'), callback.smsDelivery({ messageId: 'm-1' }), credentials)
    expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
    const run = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await runCli([...args, '--prefix', prefix], { STORE_URL: MYSQL_URL })
      expect(code, stderr).toBe(0)
      return stdout
    }
    const [event] = jsonLines(await run('events', 'list', '--json'))
    expect(JSON.stringify(event)).toContain('"m-1"')
    expect(await run('events', 'show', String(event?.['id']))).toContain('m-1')
    expect(await run('events', 'state', 'm-1')).toContain('delivered')
    expect(await run('forget', '--message-id', 'm-1')).toContain('1')
    expect(await run('events', 'list')).toBe('')
  })
})

describeRedis('dead-letters on Redis', () => {
  const server = useRedis()
  const nodes = useCluster()

  /** With a number of partitions that differs from the default. */
  function shared(prefix = freshPrefix()): Shared {
    const url = server().url()
    const store = (): Store => redisStore({ client: createClient({ url }), prefix, partitions: 3 })
    return { store, url, flags: ['--prefix', prefix], password: encodeURIComponent(server().password) }
  }

  test('list, show, replay and discard, by the package redis', TIMEOUT, () => worksOn(shared(), without('ioredis')))

  test('list, show, replay and discard, by the package ioredis', TIMEOUT, () => worksOn(shared(), without('redis')))

  test.each(['redis', 'ioredis'] as const)(
    'finds a cluster from one of its nodes, without %s',
    TIMEOUT,
    async (missing) => {
      const prefix = freshPrefix()
      const { client, end } = clusterClientFor('redis', nodes())
      onTestFinished(() => end())
      const url = nodes()[1]?.url() ?? ''
      await worksOn({ store: () => redisStore({ client, prefix }), url, flags: ['--prefix', prefix] }, without(missing))
    },
  )

  test('does not create missing keys', TIMEOUT, async () => {
    const { url: STORE_URL, flags } = shared()
    const none = await runCli(['dead-letters', 'list', ...flags], { STORE_URL })
    expect(none).toMatchObject({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(none.stderr).toBe('error: The server has no keys of this package.\nCheck the server and --prefix.\n')
    const client = createClient({ url: STORE_URL })
    await client.connect()
    expect(await client.exists(`${flags[1] ?? ''}:layout`)).toBe(0)
    client.destroy()
  })

  test.each(['redis', 'ioredis'])(
    'reports a wrong password without repeating it: without %s',
    TIMEOUT,
    async (missing) => {
      const STORE_URL = server()
        .url()
        .replace(/:[^:@]*@/, ':another-password@')
      const { code, stdout, stderr } = await runCli(['dead-letters', 'list'], { ...without(missing), STORE_URL })
      expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
      expect(stderr).toContain('WRONGPASS')
      expect(stderr).not.toContain('another-password')
    },
  )
})

describe('an unreachable shared store', TIMEOUT, () => {
  const CANNOT = 'error: Cannot use the store. '

  test.each([
    ['Postgres', 'postgres://me:hidden@127.0.0.1:1/none', {}],
    ['MySQL', 'mysql://me:hidden@127.0.0.1:1/none', {}],
    ['Redis, by the package redis', 'redis://me:hidden@127.0.0.1:1', without('ioredis')],
    ['Redis, by the package ioredis', 'redis://me:hidden@127.0.0.1:1', without('redis')],
    ['Redis over TLS', 'rediss://me:hidden@127.0.0.1:1', {}],
  ])('%s: why, in one line, and no password', async (_, STORE_URL, env) => {
    const { code, stdout, stderr } = await runCli(['dead-letters', 'list'], { ...env, STORE_URL })
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(stderr.startsWith(CANNOT)).toBe(true)
    expect(stderr).toContain('ECONNREFUSED')
    expect(stderr.trimEnd().split('\n')).toHaveLength(2)
    expect(stderr).not.toContain('hidden')
  })

  test('without any package for Redis: one line, and what to install', async () => {
    const args = ['dead-letters', 'list', '--store', 'redis://127.0.0.1:1']
    const { code, stdout, stderr } = await runCli(args, without('redis', 'ioredis'))
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
    expect(stderr).toBe(
      'error: A Redis store requires the package redis or ioredis, and neither is installed.\n' +
        'Install one: npm install redis\n',
    )
  })
})
