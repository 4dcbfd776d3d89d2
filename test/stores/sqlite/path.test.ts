/** One reading of every form of a path, by the store and by the command line. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionsError } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { databasePath } from '../../../src/stores/sqlite/path.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { hostOf } from '../../support/stores.ts'

test.each([
  ['inbox.db', 'inbox.db'],
  ['./a b/inbox.db', './a b/inbox.db'],
  ['/var/inbox.db', '/var/inbox.db'],
  ['C:\\data\\inbox.db', 'C:\\data\\inbox.db'],
  ['file:inbox.db', 'inbox.db'],
  ['file:./dev.db', './dev.db'],
  ['file:./a%20b.db', './a b.db'],
  ['FILE:/var/inbox.db', '/var/inbox.db'],
  ['file:///var/a%20b.db', '/var/a b.db'],
  ['file://localhost/var/inbox.db', '/var/inbox.db'],
  ['sqlite:inbox.db', 'inbox.db'],
  ['sqlite://inbox.db', 'inbox.db'],
  ['sqlite:///var/inbox.db', '/var/inbox.db'],
])('%s is the path %s', (given, path) => {
  expect(databasePath(given, 'sqliteStore')).toBe(path)
})

test.each([
  [':memory:', 'memoryStore'],
  ['file::memory:', 'memoryStore'],
  ['sqlite::memory:', 'memoryStore'],
  ['sqlite://', 'memoryStore'],
  ['file:inbox.db?mode=memory&cache=shared', 'parameters'],
  ['file:///var/inbox.db#x', 'parameters'],
  ['file://db.example/inbox.db', 'on this machine'],
  ['file:./%zz', 'on this machine'],
  ['postgres://app:secret@db.example/app', 'an address'],
  ['libsql://db.example', 'an address'],
])('%s is refused', (given, what) => {
  for (const read of [() => databasePath(given, 'sqliteStore'), () => sqliteStore(given)]) {
    expect(read).toThrow(OptionsError)
    expect(read).toThrow(what)
    expect(read).not.toThrow('secret')
  }
})

test.each([
  ['file:', (path: string) => `file:${path}`],
  ['a URL', (path: string) => pathToFileURL(path).href],
  ['sqlite://', (path: string) => `sqlite://${path}`],
])('%s: the file is private, and what belongs to it is beside it', async (_, form) => {
  const folder = ownFolder()
  const path = join(folder, 'a b.db')
  const store = sqliteStore(form(path))
  expect(store.capabilities.spoolFolder).toBe(`${path}-spool`)
  const open = await store.open(hostOf())
  onTestFinished(async () => open.close())
  expect(existsSync(path)).toBe(true)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).every((name) => name.startsWith('a b.db'))).toBe(true)
})
