/** A start that fails for good: a store of another application, an unusable spool, or tables that were never made. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { memoryStore, MessagingWebhooksError, type Receiver, type Store } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { logging } from '../support/logging.ts'
import { ownFolder } from '../support/own-folder.ts'
import { runProgram } from '../support/program.ts'
import { post, receiving, serve } from '../support/receiving.ts'

/** An SQLite file of another application, and the options of a receiver on it, which has a spool beside the file. */
function onForeignFile() {
  const path = join(ownFolder(), 'other.db')
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE theirs (id INTEGER)')
  other.close()
  return { path, store: sqliteStore(path) }
}

async function readyz(receiver: Receiver): Promise<{ status: number; body: unknown }> {
  const response = await fetch(new URL('/readyz', await serve(receiver.healthMiddleware())))
  return { status: response.status, body: await response.json() }
}

/** A store whose tables are missing until `migrated`. The first attempt to open it takes `firstMs`. */
function unmigratedStore(firstMs: number) {
  const inner = memoryStore()
  const state = { migrated: false, opened: 0 }
  const store: Store = {
    capabilities: inner.capabilities,
    async open(host) {
      state.opened += 1
      if (state.opened === 1) await new Promise((resolve) => setTimeout(resolve, firstMs))
      if (!state.migrated) throw new MessagingWebhooksError('store_unmigrated')
      return inner.open(host)
    },
  }
  return { store, state }
}

/** Runs an application that calls `start()` without `await` on the store at `path`. */
function runApp(path: string, afterwards: string) {
  const modules = ['index.ts', 'stores/sqlite/store.ts'].map((name) => new URL(`../../src/${name}`, import.meta.url))
  const program = `
    const [{ createReceiver }, { sqliteStore }] = await Promise.all(${JSON.stringify(modules)}.map((name) => import(name)))
    const receiver = createReceiver({
      credentials: { authKey: 'auth-key-of-the-test', signingSecret: 'signing-secret-of-the-test' },
      store: sqliteStore(${JSON.stringify(path)}),
      logger: false,
    })
    setTimeout(() => { console.log('still running'); process.exit() }, 10_000)
    receiver.start()
    ${afterwards}`
  const file = join(ownFolder(), 'app.mjs')
  writeFileSync(file, program)
  return runProgram(process.execPath, [file])
}

describe('start() without await', () => {
  test('ends the process with an unhandled rejection that has the code', async () => {
    const { code, stdout, stderr } = await runApp(onForeignFile().path, '')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain("code: 'store_foreign'")
  })

  test('does not reject unhandled when the receiver closes before the store is open', async () => {
    const ran = await runApp(
      join(ownFolder(), 'own.db'),
      "await receiver.close(); console.log('closed'); process.exit()",
    )
    expect(ran).toMatchObject({ code: 0, stdout: 'closed\n' })
  })
})

describe('beside a spool', () => {
  test.each(['start()', 'the first callback'])(
    'a failure found by %s is reported once with its code, and ends without a restart',
    async (found) => {
      const { path, store } = onForeignFile()
      const { logger, of } = logging()
      const { receiver, url, errors } = await receiving({ store, logger })
      if (found === 'start()') {
        await expect(receiver.start()).rejects.toMatchObject({ code: 'store_foreign' })
        await expect(receiver.start()).rejects.toMatchObject({ code: 'store_foreign' })
      }
      for (let count = 0; count < 3; count += 1) expect((await post(url, callback.smsDelivery())).status).toBe(204)
      await expect.poll(() => of('store_foreign').map(({ level }) => level)).toEqual(['error'])
      expect(errors.filter(({ code }) => code === 'store_foreign')).toHaveLength(1)
      expect(await readyz(receiver)).toEqual({
        status: 503,
        body: { ready: false, working: false, reasons: ['start_failed', 'store_away', 'not_started'] },
      })
      rmSync(path)
      await expect.poll(() => receiver.health()).toMatchObject({ ready: true, working: true, reasons: [] })
      await expect.poll(() => receiver.stats()).toMatchObject({ unsettled: 0, byType: { 'message.delivered': 3 } })
    },
  )

  test('a failure that shows after start() has resolved is reported as well', async () => {
    const { store, state } = unmigratedStore(400)
    const { logger, of } = logging()
    const { receiver, url } = await receiving({ store, logger, spool: ownFolder(), storeTimeoutMs: 100 })
    await receiver.start()
    await expect.poll(() => of('store_unmigrated')).toHaveLength(1)
    expect((await post(url, callback.smsDelivery())).status).toBe(204)
    expect(await readyz(receiver)).toMatchObject({ status: 503 })
    state.migrated = true
    await expect.poll(() => receiver.health()).toMatchObject({ ready: true, working: true, reasons: [] })
    await expect.poll(() => receiver.stats()).toMatchObject({ spooled: 0, unsettled: 0 })
    expect(of('store_unmigrated')).toHaveLength(1)
  })

  test('an unusable spool is reported with its code', async () => {
    const spool = join(ownFolder(), 'a-file')
    writeFileSync(spool, '')
    const { logger, of } = logging()
    const { receiver } = await receiving({ store: sqliteStore(join(ownFolder(), 'own.db')), logger, spool })
    await expect(receiver.start()).rejects.toMatchObject({ code: 'spool_unusable' })
    expect(of('spool_unusable').map(({ level }) => level)).toEqual(['error'])
    expect(await readyz(receiver)).toMatchObject({ status: 503 })
  })
})

test('without a spool, a store that can be opened later is ready again', async () => {
  const { store, state } = unmigratedStore(0)
  const { logger, of } = logging()
  const { receiver, url } = await receiving({ store, logger, spool: false })
  await expect(receiver.start()).rejects.toMatchObject({ code: 'store_unmigrated' })
  expect(of('store_unmigrated')).toHaveLength(1)
  expect(await readyz(receiver)).toMatchObject({ status: 503, body: { working: false } })
  state.migrated = true
  await expect.poll(() => receiver.health()).toMatchObject({ ready: true })
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  await expect.poll(() => receiver.health()).toMatchObject({ ready: true, working: true, reasons: [] })
})
