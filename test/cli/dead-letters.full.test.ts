/** `dead-letters` as a process, on each store: of a receiver that runs, and of one that has closed. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createReceiver, type Receiver, type Store } from 'messaging-webhooks'
import { redisStore } from 'messaging-webhooks/redis'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
import { createClient } from 'redis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { storeAt } from '../../src/cli/stores.ts'
import { useCluster } from '../stores/redis/own-cluster.ts'
import { clusterClientFor, describeRedis, freshPrefix, useRedis } from '../stores/redis/own-redis.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { ownFile, ownFolder } from '../support/own-folder.ts'
import { AUTH_KEY, CREDENTIALS as credentials, jsonLines, POLL, runCli, without } from './cli.ts'
import { SQL_ENGINES } from './sql-engines.ts'

const TIMEOUT = { timeout: 180_000 }

/** A receiver whose handler fails until an event is replayed. */
function running(store: Store) {
  const receiver = createReceiver({ credentials, store, retry: { attempts: 1 }, spool: false, logger: false })
  onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
  const replayed: string[] = []
  receiver.on('message.failed', ({ messageId }, { replay }) => {
    if (!replay) throw new Error(`no luck with ${messageId}\u001b[2J\u009b\u007f\u202e`)
    replayed.push(messageId)
  })
  return { receiver, replayed }
}

/** Makes the dead letters m-1, m-2 and m-3. */
async function makeDeadLetters(receiver: Receiver): Promise<void> {
  for (const messageId of ['m-1', 'm-2', 'm-3']) {
    const body = callback.smsDelivery({ messageId, status: 'network_failure' })
    expect((await deliver(receiver.middleware('status'), body, credentials)).status).toBe(204)
    expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  }
}

/** A store, and the command line's arguments for it. */
interface Place {
  readonly store: Store
  readonly url: string
  readonly flags?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** Lists and shows dead letters, replays one while a receiver runs and dispatches it, and discards another. */
async function worksOn({ store, url, flags = [], env }: Place): Promise<void> {
  const { receiver, replayed } = running(store)
  await makeDeadLetters(receiver)
  const run = (...args: readonly string[]) => runCli(['dead-letters', ...args, ...flags], { ...env, STORE_URL: url })

  const list = await run('list', '--json')
  expect({ code: list.code, stderr: list.stderr }).toEqual({ code: 0, stderr: '' })
  const letters = jsonLines(list.stdout)
  expect(letters).toHaveLength(3)
  const idOf = (messageId: string): string =>
    String(letters.find(({ event }) => JSON.stringify(event).includes(`"${messageId}"`))?.['id'])

  const show = await run('show', idOf('m-2'))
  expect(show).toMatchObject({ code: 0, stderr: '' })
  expect(show.stdout).toMatch(/^about +m-2$/m)
  expect(show.stdout).toContain('"messageId": "m-2"')
  expect(show.stdout).toContain('Error: no luck with m-2')
  expect(list.stdout + show.stdout).not.toMatch(/[^\P{C}\n]/u)

  expect((await run('replay', idOf('m-2'))).stdout).toBe('1 dead letter due again.\n')
  await expect.poll(() => replayed, POLL).toEqual(['m-2'])
  expect(await run('discard', idOf('m-1'))).toEqual({ code: 0, stdout: '1 dead letter discarded.\n', stderr: '' })
  const rest = await run('list')
  expect(rest.stdout).toMatch(
    /^[0-9a-f]{32} {2}\S+Z {2}message\.failed {2}m-3 {2}1 attempts {2}Error: no luck with m-3\\u001b\[2J\\u009b\\u007f\\u202e\n$/,
  )
  expect((await run('show', idOf('m-1'))).code).toBe(EXIT_CODES.notFound.code)
  const printed = JSON.stringify([list, show, rest])
  const secrets = [AUTH_KEY, url.startsWith('/') ? '' : new URL(url).password].filter((secret) => secret !== '')
  for (const secret of secrets) expect(printed).not.toContain(secret)
}

describe('dead-letters on SQLite', TIMEOUT, () => {
  test('list, show, replay and discard', async () => {
    const url = ownFile()
    await worksOn({ store: sqliteStore(url), url })
  })

  test('pages, ids that do not exist, and replays in the next receiver', async () => {
    const path = ownFile()
    const { receiver } = running(sqliteStore(path))
    await makeDeadLetters(receiver)
    await receiver.close()
    const run = (...args: readonly string[]) => runCli(['dead-letters', ...args, '--store', path])

    const page = await run('list', '--limit', '2', '--json')
    const [first = '', second = ''] = jsonLines(page.stdout).map(({ id }) => String(id))
    const after = /^For more, pass --after (\S+)\n$/.exec(page.stderr)?.[1] ?? ''
    const rest = await run('list', '--after', after, '--json')
    expect(jsonLines(rest.stdout)).toMatchObject([{ attempts: 1, event: { messageId: 'm-3' } }])

    await run('discard', first)
    const missing = await run('replay', first, second)
    expect(missing).toMatchObject({ code: EXIT_CODES.notFound.code, stdout: '1 dead letter due again.\n' })
    expect(missing.stderr).toContain(`error: There is no dead letter ${first}.\n`)
    const all = await run('replay', '--all')
    expect(all).toMatchObject({ code: 0, stdout: '1 dead letter due again.\n' })
    expect(all.stderr).toContain('in the next one that opens it')
    expect(await run('list')).toEqual({ code: 0, stdout: '', stderr: 'There are no dead letters.\n' })

    const next = running(sqliteStore(path))
    expect(await next.receiver.drain({ deadlineMs: 60_000 })).toBe(true)
    expect(next.replayed.toSorted()).toEqual(['m-2', 'm-3'])
  })

  test('lists events that the store refuses, which wait in the spool', async () => {
    const path = ownFile()
    const store = faultyStore(sqliteStore(path))
    store.refuses = ({ raw }) => raw.includes('poison')
    const receiver = createReceiver({ credentials, store, logger: false })
    onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
    receiver.onAny(() => {})
    for (const messageId of ['a', 'poison', 'b']) {
      const body = callback.smsDelivery({ messageId })
      expect((await deliver(receiver.middleware('status'), body, credentials)).status).toBe(204)
    }
    await expect.poll(async () => (await receiver.deadLetters.refused()).length, POLL).toBe(1)
    const list = await runCli(['dead-letters', 'list', '--store', path])
    expect(list.stdout).toMatch(/^[0-9a-f]{32} {2}\S+Z {2}message\.delivered {2}poison {2}.*Bad data in the batch/)
    expect(list.stderr).toMatch(/^There are no dead letters\.\nRefused by the store, in the spool:\n/)
    const json = await runCli(['dead-letters', 'list', '--json', '--store', path])
    expect(jsonLines(json.stdout)).toMatchObject([{ event: { messageId: 'poison' } }])
    expect(list.stdout + json.stdout).not.toContain(AUTH_KEY)
  })

  test('a store is named by a path or by a URL', async () => {
    const path = join(ownFolder(), 'a b.db')
    writeFileSync(path, '')
    for (const url of [path, `sqlite:${path}`, `sqlite://${path}`, pathToFileURL(path).href])
      expect((await storeAt(url)).capabilities.spoolFolder).toBe(`${path}-spool`)
  })
})

for (const [title, { describeEngine, url, flag, fresh, store, tablesOf, ...engine }] of Object.entries(SQL_ENGINES))
  describeEngine(`dead-letters on ${title}`, () => {
    test('list, show, replay and discard', TIMEOUT, async () => {
      const name = fresh()
      await worksOn({ store: store(name), url: url.replace(/^postgres:/, 'postgresql:'), flags: [flag, name] })
    })

    test('does not create missing tables, or change newer ones', TIMEOUT, async () => {
      const name = fresh()
      const list = () => runCli(['dead-letters', 'list', flag, name], { STORE_URL: url })
      const none = await list()
      expect(none).toEqual({
        code: EXIT_CODES.failed.code,
        stdout: '',
        stderr: `error: The database has no tables of this package.\nCheck ${flag}, or run: messaging-webhooks migrate\n`,
      })
      expect(await tablesOf(name)).toEqual([])
      await engine.migrate(name)
      expect(await list()).toEqual({ code: 0, stdout: '', stderr: 'There are no dead letters.\n' })
      await engine.addMigration(name)
      const newer = await list()
      expect(newer.code).toBe(EXIT_CODES.failed.code)
      expect(newer.stderr).toContain('newer version of this package')
    })
  })

describeRedis('dead-letters on Redis', () => {
  const server = useRedis()
  const nodes = useCluster()

  describe.each(['redis', 'ioredis'])('without the package %s', TIMEOUT, (missing) => {
    const env = without(missing)

    test('list, show, replay and discard', async () => {
      const [url, prefix] = [server().url(), freshPrefix()]
      // Another number of partitions than the default.
      const store = redisStore({ client: createClient({ url }), prefix, partitions: 3 })
      await worksOn({ store, url, flags: ['--prefix', prefix], env })
    })

    test('finds a cluster from one of its nodes', async () => {
      const prefix = freshPrefix()
      const { client, end } = clusterClientFor('redis', nodes())
      onTestFinished(() => end())
      const url = nodes()[1]?.url() ?? ''
      await worksOn({ store: redisStore({ client, prefix }), url, flags: ['--prefix', prefix], env })
    })

    test('reports a wrong password without repeating it', async () => {
      const STORE_URL = server()
        .url()
        .replace(/:[^:@]*@/, ':another-password@')
      const { code, stdout, stderr } = await runCli(['dead-letters', 'list'], { ...env, STORE_URL })
      expect({ code, stdout }).toEqual({ code: EXIT_CODES.failed.code, stdout: '' })
      expect(stderr).toContain('WRONGPASS')
      expect(stderr).not.toContain('another-password')
    })
  })

  test('does not create missing keys', TIMEOUT, async () => {
    const [url, prefix] = [server().url(), freshPrefix()]
    expect(await runCli(['dead-letters', 'list', '--prefix', prefix], { STORE_URL: url })).toEqual({
      code: EXIT_CODES.failed.code,
      stdout: '',
      stderr: 'error: The server has no keys of this package.\nCheck the server and --prefix.\n',
    })
    const client = createClient({ url })
    await client.connect()
    expect(await client.exists(`${prefix}:layout`)).toBe(0)
    client.destroy()
  })
})
