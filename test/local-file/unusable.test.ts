/** A local file that cannot be used: the start fails with what to do, and nothing in the way is changed. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { memoryStore, type Receiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { faultyStore } from '../support/faulty-store.ts'
import { ownFolder } from '../support/own-folder.ts'
import { post, receiving } from '../support/receiving.ts'
import { unprivileged } from '../support/unprivileged.ts'

const NAME = 'local.db'

function deliveredTo(receiver: Receiver): readonly string[] {
  const seen: string[] = []
  receiver.on('message.delivered', ({ messageId }) => void seen.push(messageId))
  return seen
}

function database(path: string, ...statements: readonly string[]): void {
  const db = new DatabaseSync(path)
  for (const statement of statements) db.exec(statement)
  db.close()
}

interface Case {
  readonly is: string
  readonly make: (path: string) => void
  readonly says: string
}

const CASES: readonly Case[] = [
  {
    is: 'a database of another application',
    make: (path) => database(path, 'CREATE TABLE theirs (id INTEGER)'),
    says: 'The file belongs to something else and was not changed.',
  },
  {
    is: 'no database',
    make: (path) => writeFileSync(path, 'a text that is longer than the header of a database '.repeat(100)),
    says: 'The file belongs to something else and was not changed.',
  },
  {
    is: 'of a newer version',
    make: (path) => database(path, 'PRAGMA application_id = 1836543078', 'PRAGMA user_version = 99'),
    says: 'A newer version of this package wrote the file. Update this package.',
  },
]

test.each(CASES)('a file that is $is', async ({ make, says }) => {
  const folder = ownFolder()
  const path = join(folder, NAME)
  make(path)
  const before = readFileSync(path)
  const { receiver, url } = await receiving({ store: memoryStore(), spool: folder })
  await expect(receiver.start()).rejects.toMatchObject({
    code: 'spool_unusable',
    message: expect.stringContaining(`${path} (\`spool\`): ${says}`) as string,
  })
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  expect(readFileSync(path)).toEqual(before)
})

test('a folder that is a file', async () => {
  const folder = join(ownFolder(), 'taken')
  writeFileSync(folder, '')
  const { receiver } = await receiving({ store: memoryStore(), spool: folder })
  await expect(receiver.start()).rejects.toMatchObject({
    code: 'spool_unusable',
    message: expect.stringContaining('A part of the path is not a folder.') as string,
  })
})

test('a folder that this user may not write, for a user who never named a spool', async () => {
  const folder = join(ownFolder(), 'data')
  mkdirSync(folder, { mode: 0o755 })
  database(join(folder, 'inbox.db'))
  await unprivileged(async () => {
    const { receiver } = await receiving({ store: sqliteStore(join(folder, 'inbox.db')) })
    await expect(receiver.start()).rejects.toMatchObject({
      code: 'spool_unusable',
      message: expect.stringMatching(
        /\(the default of `spool`, beside the SQLite store\): This process may not write there\./,
      ) as string,
    })
  })
})

test('the next release finds the spool behind its link to the database', async () => {
  const root = ownFolder()
  mkdirSync(join(root, 'shared'))
  const release = (name: string): string => {
    const path = join(root, name, 'inbox.db')
    mkdirSync(dirname(path))
    symlinkSync('../shared/inbox.db', path)
    return path
  }
  const store = faultyStore(sqliteStore(release('1')))
  store.fault = 'throws'
  const first = await receiving({ store })
  expect((await post(first.url, callback.smsDelivery({ messageId: 'spooled' }))).status).toBe(204)
  await first.receiver.close({ deadlineMs: 50 })
  expect(readdirSync(join(root, 'shared'))).toContain('inbox.db-spool')
  const second = await receiving({ store: sqliteStore(release('2')) })
  const seen = deliveredTo(second.receiver)
  await second.receiver.start()
  await expect.poll(() => seen, { timeout: 30_000 }).toEqual(['spooled'])
})
