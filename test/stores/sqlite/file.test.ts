/** What kind of file the path may name, and what may happen to the file from outside. */

import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { MessageStore } from 'messaging-webhooks/store'
import { sqliteStore, type SqliteStoreOptions } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { admit, sample } from '../../../src/store-conformance/samples.ts'
import { canShare } from '../../../src/sqlite/connection.ts'
import { hostOf } from '../../support/stores.ts'
import { unprivileged } from '../../support/unprivileged.ts'
import { ownFile } from '../../support/own-folder.ts'

async function open(path: string, options: Partial<SqliteStoreOptions> = {}): Promise<MessageStore> {
  const opened = await sqliteStore({ path, ...options }).open(hostOf())
  onTestFinished(async () => {
    await opened.close()
  })
  return opened
}

function change(path: string, sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

test.each<{ readonly what: string; readonly make: (path: string) => unknown; readonly error: object }>([
  {
    what: 'a file that is not a database',
    make: (path: string) =>
      writeFileSync(path, 'notes of another program, longer than a header of a hundred bytes: '.repeat(4)),
    error: { code: 'store_foreign' },
  },
  {
    what: 'a foreign database',
    make: (path: string) => change(path, 'CREATE TABLE customers (name TEXT)'),
    error: { code: 'store_foreign' },
  },
  {
    what: 'a file of a newer version',
    async make(path: string) {
      await (await open(path)).close()
      change(path, 'PRAGMA user_version = 99; PRAGMA journal_mode = DELETE')
    },
    error: { code: 'store_newer', detail: 'The file has version 99; this package knows 1.' },
  },
])('rejects $what by name, and leaves it as it is', async ({ make, error }) => {
  const path = ownFile()
  await make(path)
  const before = readFileSync(path)
  await expect(open(path)).rejects.toMatchObject(error)
  expect(readFileSync(path)).toEqual(before)
  expect(existsSync(`${path}-wal`)).toBe(false)
})

test('a folder that does not exist, and the path of a folder, are errors, not hangs', async () => {
  const wrong = { code: 'store_path_invalid' }
  await expect(open(join(ownFile(), 'no', 'such', 'inbox.db'))).rejects.toMatchObject(wrong)
  await expect(open(dirname(ownFile()))).rejects.toMatchObject(wrong)
})

test('a file that cannot be written is an error', async () => {
  const path = ownFile()
  await (await open(path)).close()
  chmodSync(path, 0o444)
  chmodSync(dirname(path), 0o777)
  await unprivileged(() => expect(open(path)).rejects.toThrow(/readonly/))
})

test('an admission waits while another connection writes, and the event loop does not', async () => {
  const path = ownFile()
  const store = await open(path, { busyTimeoutMs: 5_000 })
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  let turns = 0
  const admitted = admit(store, [sample()]).then((admissions) => ({ admissions, turns }))
  while (turns < 1_000) {
    await new Promise((resolve) => setImmediate(resolve))
    turns += 1
  }
  other.exec('COMMIT')
  other.close()
  expect(await admitted).toEqual({ admissions: ['new'], turns: 1_000 })
})

test.each([
  ['3.51.3', true],
  ['3.53.4', true],
  ['4.0.0', true],
  ['3.51.2', false],
  ['3.50.7', true],
  ['3.50.6', false],
  ['3.49.9', false],
  ['3.44.6', true],
  ['3.44.5', false],
  ['3.45.0', false],
])('SQLite %s may be written by several connections: %s', (version, expected) => {
  expect(canShare(version)).toBe(expected)
})
