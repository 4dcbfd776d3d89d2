/** Looks like another file, but is the same one: a full disk, a clock that is set back, a process that is stopped in a checkpoint. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../support/own-folder.ts'
import { post, receiving } from '../../support/receiving.ts'
import { fill, onSmallDisk } from '../../support/small-disk.ts'

const TIMEOUT_MS = 60_000
const POLL = { timeout: 30_000 }
/** Far more than a page. */
const BODY_BYTES = 200_000
const PAGE_BYTES = 4_096
/** https://sqlite.org/fileformat2.html#the_database_header */
const PAGE_COUNT_AT = 28
const HOUR_MS = 3_600_000
/** Longer than several polls of the file. */
const SOME_POLLS_MS = 1_000

const pauseMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Two receivers on one file, each of which gets every other callback. */
async function sharing(
  folder: string,
  {
    spool,
    clocks = [Date.now, Date.now],
  }: { readonly spool?: string; readonly clocks?: readonly (() => number)[] } = {},
) {
  const path = join(folder, 'inbox.db')
  const seen: string[] = []
  const served: Awaited<ReturnType<typeof receiving>>[] = []
  for (const [index, clock] of clocks.entries()) {
    const one = await receiving({
      store: sqliteStore(path),
      clock,
      spool: spool === undefined ? false : join(spool, String(index)),
    })
    one.receiver.on('message.*', ({ messageId }) => void seen.push(messageId))
    await one.receiver.start()
    served.push(one)
  }
  const answered: string[] = []
  let sent = 0
  /** Delivers a callback of its own message. */
  async function deliver(): Promise<number> {
    const index = sent % served.length
    const { url = '' } = served[index] ?? {}
    const messageId = `m${(sent += 1)}`
    const body = callback.smsDelivery({ messageId, description: 'x'.repeat(BODY_BYTES) })
    const { status } = await post(url, body, { timestamp: Math.floor((clocks[index]?.() ?? 0) / 1_000) })
    if (status === 204) answered.push(messageId)
    return status
  }
  return {
    path,
    deliver,
    async checkAll(): Promise<void> {
      await expect.poll(() => new Set(seen), POLL).toEqual(new Set(answered))
      for (const { receiver, errors } of served) {
        expect(errors.map(({ code }) => code)).not.toContain('store_replaced')
        await expect.poll(() => receiver.health(), POLL).toMatchObject({ ready: true, working: true, reasons: [] })
      }
    },
  }
}

const spoolIf = (hasSpool: boolean) => (hasSpool ? { spool: ownFolder() } : {})

for (const hasSpool of [false, true])
  onSmallDisk(`a disk that is full for a moment, spool: ${hasSpool}`, TIMEOUT_MS, async (disk) => {
    const folder = disk(96 * 1024 * 1024)
    const { deliver, checkAll } = await sharing(folder, spoolIf(hasSpool))
    // Until the log has been copied into the file once: from then on the log has room, and the file must grow.
    for (let count = 0; count < 60; count += 1) expect(await deliver()).toBe(204)
    const free = fill(folder)
    const statuses = new Set<number>()
    for (let count = 0; count < 100; count += 1) statuses.add(await deliver())
    expect([...statuses].toSorted()).toEqual(hasSpool ? [204] : [204, 503])
    await pauseMs(SOME_POLLS_MS)
    free()
    await expect.poll(deliver, POLL).toBe(204)
    for (let count = 0; count < 10; count += 1) expect(await deliver()).toBe(204)
    await checkAll()
  })

test.each([false, true])(
  'a clock that is set back by an hour, spool: %s',
  { timeout: TIMEOUT_MS },
  async (hasSpool) => {
    let aheadMs = HOUR_MS
    const clocks = [() => Date.now() + aheadMs, Date.now]
    const { path, deliver, checkAll } = await sharing(ownFolder(), { clocks, ...spoolIf(hasSpool) })
    for (let round = 0; round < 8; round += 1) {
      expect(await deliver()).toBe(204)
      const db = new DatabaseSync(path)
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      db.close()
      await pauseMs(SOME_POLLS_MS)
      if (round > 4) aheadMs = 0
    }
    await checkAll()
  },
)

test.each([false, true])(
  'a process that is stopped in a checkpoint, spool: %s',
  { timeout: TIMEOUT_MS },
  async (hasSpool) => {
    const { path, deliver, checkAll } = await sharing(ownFolder(), spoolIf(hasSpool))
    expect(await deliver()).toBe(204)
    const other = fork(fileURLToPath(new URL('./programs/checkpointing.ts', import.meta.url)), [path])
    onTestFinished(() => void other.kill('SIGKILL'))
    await once(other, 'message')
    let stopped = 0
    for (let round = 0; stopped < 2 && round < 20; round += 1) {
      for (let count = 0; count < 15; count += 1) expect(await deliver()).toBe(204)
      const { size } = statSync(path)
      const copied = once(other, 'message')
      other.send('checkpoint')
      // The store may have copied most of the log itself, so that the file no longer grows.
      const untilMs = Date.now() + 200
      while (statSync(path).size === size && Date.now() < untilMs);
      other.kill('SIGSTOP')
      await pauseMs(10)
      // The first page, which is written first, has the final size.
      const pages = readFileSync(path).readUInt32BE(PAGE_COUNT_AT)
      if (statSync(path).size < pages * PAGE_BYTES) stopped += 1
      await pauseMs(SOME_POLLS_MS)
      for (let count = 0; count < 5; count += 1) expect(await deliver()).toBe(204)
      other.kill('SIGCONT')
      await copied
    }
    expect(stopped).toBeGreaterThan(0)
    await checkAll()
  },
)
