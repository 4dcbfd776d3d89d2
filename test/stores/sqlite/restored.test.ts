/** A file that somebody puts a backup in the place of, and one that may not be written: noticed, and nothing is lost. */
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Receiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
import { mayBeWritten, unprivileged } from '../../support/unprivileged.ts'

const PATIENT = { timeout: 60_000 }
const POLL = { timeout: 30_000 }

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-restored-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function withFile<T>(path: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

function handedOver(receiver: Receiver): readonly string[] {
  const seen: string[] = []
  receiver.on('message.*', ({ messageId }) => void seen.push(messageId))
  return seen
}

/** Delivers one callback after another, each of a message of its own. */
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
  'an older copy in the place of an open file is noticed, and what comes then is in it after a restart',
  PATIENT,
  async () => {
    const folder = freshFolder()
    const path = join(folder, 'inbox.db')
    const first = await receiving({ store: sqliteStore(path) })
    const seen = handedOver(first.receiver)
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
    // As the README says: the log of the old file is not the new one's.
    for (const name of ['-wal', '-shm']) rmSync(`${path}${name}`, { force: true })

    const second = await receiving({ store: sqliteStore(path) })
    const seenAfter = handedOver(second.receiver)
    url = second.url
    await second.receiver.start()
    await deliver()
    await expect.poll(() => new Set([...before, ...seenAfter]), POLL).toEqual(new Set(answered))
    expect(seenAfter).toEqual(expect.arrayContaining(answered.slice(noticedAt)))
    expect(withFile(path, (db) => db.prepare('PRAGMA integrity_check').all())).toEqual([{ integrity_check: 'ok' }])
  },
)

test(
  'a file that may not be written costs nothing while there is a spool, and is used when it may',
  PATIENT,
  async () => {
    const folder = freshFolder()
    const path = join(folder, 'inbox.db')
    const store = await sqliteStore(path).open({ onWork() {} })
    await store.close()
    chmodSync(path, 0o444)
    // Others may look at it, and make files beside it.
    chmodSync(folder, 0o777)
    await unprivileged(async () => {
      const served = await receiving({ store: sqliteStore(path), spool: join(folder, 'spool') })
      const { receiver, url, errors } = served
      const seen = handedOver(receiver)
      await expect(receiver.start()).rejects.toMatchObject({ code: 'store_failed' })
      const { answered, deliver } = service(() => url)
      for (let count = 0; count < 10; count += 1) await deliver()
      expect(seen).toEqual([])
      expect(errors.map(({ code }) => code)).toContain('store_outage')
      // SQLite made these two with the mode that the file had.
      for (const name of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(name)) mayBeWritten(name)
      await expect.poll(() => seen.toSorted(), POLL).toEqual(answered.toSorted())
      await end(served)
    })
  },
)
