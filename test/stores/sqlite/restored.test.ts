/** A backup that replaces an open file, and a file that is read-only: the store notices both and loses nothing. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Receiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
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

const causeOf = (error: Error): unknown =>
  error.cause instanceof Error && 'code' in error.cause ? error.cause.code : undefined

test(
  'notices an older copy in the place of an open file; after a restart it holds the newer events',
  TIMEOUT,
  async () => {
    const folder = ownFolder()
    const path = join(folder, 'inbox.db')
    const first = await receiving({ store: sqliteStore(path) })
    const seen = dispatchedTo(first.receiver)
    let { url } = first
    const { answered, deliver } = service(() => url)
    await first.receiver.start()
    for (let count = 0; count < 20; count += 1) await deliver()
    withFile(path, (db) => db.exec(`VACUUM INTO '${path}.backup'`))
    for (let count = 0; count < 20; count += 1) await deliver()
    renameSync(`${path}.backup`, path)
    await expect
      .poll(async () => {
        await deliver()
        return first.errors.find(({ code }) => code === 'store_outage')
      }, POLL)
      .toSatisfy((error) => error instanceof Error && causeOf(error) === 'store_replaced')
    const noticedAt = answered.length
    for (let count = 0; count < 20; count += 1) await deliver()
    await end(first)
    const before = [...seen]
    // As the README says: the old file's log does not belong to the new one.
    for (const name of ['-wal', '-shm']) rmSync(`${path}${name}`, { force: true })

    const second = await receiving({ store: sqliteStore(path) })
    const seenAfter = dispatchedTo(second.receiver)
    url = second.url
    await second.receiver.start()
    await deliver()
    await expect.poll(() => new Set([...before, ...seenAfter]), POLL).toEqual(new Set(answered))
    expect(seenAfter).toEqual(expect.arrayContaining(answered.slice(noticedAt)))
    expect(withFile(path, (db) => db.prepare('PRAGMA integrity_check').all())).toEqual([{ integrity_check: 'ok' }])
  },
)

/** Like `cp` over an open file: the inode stays. */
function copyInPlace(from: string, to: string): void {
  writeFileSync(to, readFileSync(from), { flag: 'r+' })
  truncateSync(to, statSync(from).size)
}

const OVERWRITES: Readonly<Record<string, (path: string) => void>> = {
  'an older copy written over it, page by page': (path) => copyInPlace(`${path}.copy`, path),
  'an older copy written over it, made by VACUUM': (path) => copyInPlace(`${path}.vacuumed`, path),
  'cut off': (path) => truncateSync(path, 8_192),
  emptied: (path) => truncateSync(path, 0),
}

test.each(Object.entries(OVERWRITES))(
  'notices a file that is %s while it is open, without traffic, and spools what arrives',
  TIMEOUT,
  async (_, overwrite) => {
    const folder = ownFolder()
    const path = join(folder, 'inbox.db')
    const spool = join(folder, 'elsewhere')
    let aheadMs = 0
    const first = await receiving({ store: sqliteStore(path), spool, clock: () => Date.now() + aheadMs })
    const { receiver, errors } = first
    const seen = dispatchedTo(receiver)
    let { url } = first
    const { answered, deliver } = service(() => url)
    await receiver.start()
    const fill = async (): Promise<void> => {
      for (let count = 0; count < 20; count += 1) await deliver()
      await receiver.drain()
      withFile(path, (db) => db.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
    }
    await fill()
    withFile(path, (db) => db.exec(`VACUUM INTO '${path}.vacuumed'`))
    copyFileSync(path, `${path}.copy`)
    // The file says how late it is, to within some seconds.
    aheadMs = 60_000
    await fill()
    expect(errors).toEqual([])
    // The store has read what was copied from the log.
    await new Promise((resolve) => setTimeout(resolve, 600))
    overwrite(path)
    await expect.poll(() => errors.map(({ code }) => code), POLL).toContain('store_replaced')
    await expect.poll(async () => await receiver.health(), POLL).toMatchObject({ ready: true, working: false })
    const noticedAt = answered.length
    for (let count = 0; count < 10; count += 1) await deliver()
    await end(first)

    // As the guide says: restore the backup once more, without the old file's log.
    for (const name of ['', '-wal', '-shm']) rmSync(`${path}${name}`, { force: true })
    copyFileSync(`${path}.copy`, path)
    const second = await receiving({ store: sqliteStore(path), spool })
    const seenAfter = dispatchedTo(second.receiver)
    url = second.url
    await second.receiver.start()
    await expect.poll(() => seenAfter.toSorted(), POLL).toEqual(answered.slice(noticedAt).toSorted())
    expect(seen.toSorted()).toEqual(answered.slice(0, noticedAt).toSorted())
    await end(second)
  },
)

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
  const store = await sqliteStore(path).open({ onWork() {} })
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
