/** A file that is removed, replaced or read-only while it is open: the store notices it, recovers by itself and loses nothing. */
import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { MessagingWebhooksError, Receiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
import { hostOf } from '../../support/stores.ts'
import { mayBeWritten, unprivileged } from '../../support/unprivileged.ts'
import { ownFolder } from '../../support/own-folder.ts'

const TIMEOUT = { timeout: 60_000 }
const POLL = { timeout: 30_000 }

function withFile<T>(path: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

function dispatchedTo(receiver: Receiver): readonly string[] {
  const seen: string[] = []
  receiver.on('message.*', ({ messageId }) => void seen.push(messageId))
  return seen
}

/** Delivers callbacks one after another, each of its own message. */
function service(url: () => string) {
  const answered: string[] = []
  return {
    answered,
    async deliver(): Promise<void> {
      const messageId = `m${answered.length}`
      expect(await post(url(), callback.smsDelivery({ messageId }))).toMatchObject({ status: 204 })
      answered.push(messageId)
    },
  }
}

async function end({ receiver, server }: Awaited<ReturnType<typeof receiving>>): Promise<void> {
  server.closeAllConnections()
  server.close()
  await receiver.close()
}

/** The settlement of an event that runs while its file goes is lost with that file. */
const codesOf = (errors: readonly MessagingWebhooksError[]): readonly string[] =>
  errors.flatMap(({ code }) => (code === 'lease_lost' ? [] : [code]))

/** What may happen to the path of an open file. `held`: a copy without the last events. */
const REPLACEMENTS: Readonly<Record<string, (path: string, held: string) => void>> = {
  'replaced by an older copy': (path, held) => renameSync(held, path),
  'removed with its log': (path) => {
    for (const name of ['', '-wal', '-shm']) rmSync(`${path}${name}`)
  },
  'removed without its log': (path) => rmSync(path),
  moved: (path) => renameSync(path, `${path}.moved`),
}

test.each(Object.entries(REPLACEMENTS))(
  'two receivers open the file at the path anew if theirs was %s, and refuse and lose no callback',
  TIMEOUT,
  async (_, replace) => {
    const path = join(ownFolder(), 'inbox.db')
    const served = [await receiving({ store: sqliteStore(path) }), await receiving({ store: sqliteStore(path) })]
    const seen = served.map(({ receiver }) => dispatchedTo(receiver))
    for (const { receiver } of served) await receiver.start()
    let turn = 0
    const { answered, deliver } = service(() => served[turn++ % served.length]?.url ?? '')
    for (let count = 0; count < 20; count += 1) await deliver()
    withFile(path, (db) => db.exec(`VACUUM INTO '${path}.held'`))
    for (let count = 0; count < 20; count += 1) await deliver()
    await expect.poll(() => new Set(seen.flat()), POLL).toEqual(new Set(answered))
    replace(path, `${path}.held`)
    for (let count = 0; count < 40; count += 1) await deliver()
    await expect.poll(() => new Set(seen.flat()), POLL).toEqual(new Set(answered))
    for (const { errors } of served) await expect.poll(() => codesOf(errors), POLL).toEqual(['store_replaced'])
    expect(await served[0]?.receiver.health()).toMatchObject({ ready: true, working: true, reasons: [] })
    for (const each of served) await end(each)
    expect(withFile(path, (db) => db.prepare('PRAGMA integrity_check').all())).toEqual([{ integrity_check: 'ok' }])
  },
)

test('an idle receiver dispatches what the file in the place of its own holds', TIMEOUT, async () => {
  const path = join(ownFolder(), 'inbox.db')
  const other = await receiving({ store: sqliteStore(`${path}.other`), dispatch: false })
  await other.receiver.start()
  await service(() => other.url).deliver()
  await end(other)
  const { receiver } = await receiving({ store: sqliteStore(path) })
  const seen = dispatchedTo(receiver)
  await receiver.start()
  renameSync(`${path}.other`, path)
  await expect.poll(() => seen, POLL).toEqual(['m0'])
})

test('what was moved away can be opened, with everything that was in its log', TIMEOUT, async () => {
  const path = join(ownFolder(), 'inbox.db')
  const { receiver, url } = await receiving({ store: sqliteStore(path), dispatch: false })
  await receiver.start()
  const { deliver } = service(() => url)
  for (let count = 0; count < 5; count += 1) await deliver()
  renameSync(path, `${path}.moved`)
  await deliver()
  const events = (file: string) => withFile(file, (db) => db.prepare('SELECT count(*) AS n FROM payloads').get()?.['n'])
  await expect.poll(() => events(`${path}.moved`), POLL).toBe(6)
  expect(events(path)).toBe(1)
})

test('does not mistake checkpoints, VACUUM and backups by any tool for another file', TIMEOUT, async () => {
  const path = join(ownFolder(), 'inbox.db')
  const { receiver, errors, url } = await receiving({ store: sqliteStore(path) })
  const { deliver } = service(() => url)
  await receiver.start()
  for (const sql of [
    'PRAGMA wal_checkpoint(TRUNCATE)',
    `VACUUM INTO '${path}.copy'`,
    'VACUUM',
    'PRAGMA wal_checkpoint',
  ]) {
    for (let count = 0; count < 20; count += 1) await deliver()
    withFile(path, (db) => db.exec(sql))
    copyFileSync(path, `${path}.plain`)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(errors).toEqual([])
  }
  await deliver()
})

test('only the owner can access the file and its companions, whatever the umask', TIMEOUT, async () => {
  const folder = ownFolder()
  const mask = process.umask(0)
  onTestFinished(() => void process.umask(mask))
  const served = await receiving({ store: sqliteStore(join(folder, 'inbox.db')) })
  await served.receiver.start()
  await service(() => served.url).deliver()
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const open = entries.filter((entry) => {
    if (!entry.isFile() && !entry.isDirectory()) return false
    return (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0
  })
  expect(entries.map(({ name }) => name)).toContain('inbox.db-wal')
  expect(open.map(({ name }) => name)).toEqual([])
})

test('a read-only file costs nothing while there is a spool, and is used once it is writable', TIMEOUT, async () => {
  const folder = ownFolder()
  const path = join(folder, 'inbox.db')
  const store = await sqliteStore(path).open(hostOf())
  await store.close()
  chmodSync(path, 0o444)
  // Others may read it, and create files beside it.
  chmodSync(folder, 0o777)
  await unprivileged(async () => {
    const served = await receiving({ store: sqliteStore(path), spool: join(folder, 'spool') })
    const { receiver, url, errors } = served
    const seen = dispatchedTo(receiver)
    await receiver.start()
    const { answered, deliver } = service(() => url)
    for (let count = 0; count < 10; count += 1) await deliver()
    expect(seen).toEqual([])
    expect(errors.map(({ code }) => code)).toContain('store_outage')
    // SQLite created these two with the mode that the file had.
    for (const name of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(name)) mayBeWritten(name)
    await expect.poll(() => seen.toSorted(), POLL).toEqual(answered.toSorted())
    await end(served)
  })
})
