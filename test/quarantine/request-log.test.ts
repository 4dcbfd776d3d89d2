/** The quarantine's log on the disk by itself: disks that fail, hang or are slow, crashes at any moment, and its size. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import fc from 'fast-check'
import type { MessagingWebhooksError, QuarantineClass } from 'messaging-webhooks'
import { QUARANTINE_CLASSES } from '../../src/quarantine/request.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createRequestLog } from '../../src/quarantine/request-log.ts'
import { memoryKeeper } from '../../src/quarantine/keeper.ts'
import type { ExactCallback } from '../../src/quarantine/request.ts'
import type { FileSystem, OpenedFile } from '../../src/disk-log/file-system.ts'
import { nodeFs } from '../../src/disk-log/node-file-system.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { faultyFs } from '../support/faulty-fs.ts'
import { refusedWith, standing } from '../support/kept-requests.ts'
import { ownFolder } from '../support/own-folder.ts'

const MIB = 1024 * 1024
const HOUR_MS = 3_600_000

/** The disk, except for what is replaced in the files of requests. */
function faultyRequests(replace: (file: OpenedFile) => Partial<OpenedFile>): FileSystem {
  const ending: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const end of ending) await end().catch(() => {})
  })
  return faultyFs((file, path) => {
    // A log that waits for a disk to return closes nothing.
    ending.push(() => file.close())
    return path.endsWith('.requests') ? replace(file) : {}
  })
}

async function keeping(folder: string, { fs = nodeFs, maxBytes = 16 * MIB } = {}) {
  const clock = fakeClock()
  const errors: MessagingWebhooksError[] = []
  const diskLog = createRequestLog({ fs, clock, folder, report: (error) => void errors.push(error) })
  const keeper = memoryKeeper({ maxBytes, maxAgeMs: HOUR_MS }, diskLog.changes)
  const opened = diskLog.open((remembered) => keeper.restore(remembered, clock.now()))
  await opened
  onTestFinished(async () => {
    const closed = diskLog.close(0)
    await clock.advance(1)
    await closed
  })
  return {
    clock,
    errors,
    diskLog,
    keeper,
    keep: (text: string, name: QuarantineClass = 'looksLikeOurs', bytes = 0) =>
      keeper.keep(arrived(text, bytes), standing(name)),
    written: () => until(() => expect(diskLog.unwritten()).toEqual([])),
    texts: () => keeper.all().map(({ callback }) => callback.captured.bytes.toString().trim()),
  }
}

function arrived(text: string, bytes: number): ExactCallback {
  return refusedWith(Buffer.from(text.padEnd(bytes)), { signatures: ['t=1,v1=é'], arrivedAtMs: Date.now() })
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.requests'))
    .map((name) => join(folder, name))
}

function bytesIn(folder: string): number {
  return filesIn(folder).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
}

/**
 * The folder as a kill at this moment would leave it: without its locks held. Not by `cpSync`, which never ends
 * if a file becomes shorter while it is copied.
 */
function killed(folder: string): string {
  const copy = ownFolder()
  for (const path of filesIn(folder)) {
    const target = join(copy, relative(folder, path))
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    writeFileSync(target, readFileSync(path), { mode: 0o600 })
  }
  return copy
}

const until = (check: () => unknown): Promise<unknown> => vi.waitFor(check, { timeout: 30_000, interval: 5 })

test('a disk that is full for a while takes a part, and later all, without duplicates', async () => {
  const folder = ownFolder()
  let isFull = false
  const fs = faultyRequests((file) => ({
    async write(buffer, offset, length, position) {
      if (!isFull) return file.write(buffer, offset, length, position)
      await file.write(buffer, offset, Math.floor(length / 2), position)
      throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    },
  }))
  const { keep, written, diskLog, errors, clock, texts } = await keeping(folder, { fs })
  keep('before')
  await written()
  isFull = true
  for (let nth = 0; nth < 10; nth += 1) keep(`during ${nth}`)
  await until(() => expect(errors).toMatchObject([{ code: 'quarantine_unwritten' }]))
  for (let second = 0; second < 10; second += 1) await clock.advance(1_000)
  expect(errors).toHaveLength(1)
  expect(diskLog.unwritten()).toHaveLength(10)
  expect((await keeping(killed(folder))).texts()).toContain('before')
  isFull = false
  keep('after')
  await until(async () => {
    await clock.advance(60_000)
    expect(diskLog.unwritten()).toEqual([])
  })
  const next = await keeping(killed(folder))
  expect(next.texts()).toEqual(texts())
  expect(next.errors).toEqual([])
})

test('a disk that accepts no write, truncation or overwrite costs only what it failed at', async () => {
  const folder = ownFolder()
  let failing = false
  const broken = (): Promise<never> => Promise.reject(Object.assign(new Error('broken'), { code: 'EIO' }))
  const fs = faultyRequests((file) => ({
    async write(buffer, offset, length, position) {
      if (!failing) return file.write(buffer, offset, length, position)
      await file.write(buffer, offset, Math.floor(length / 2), position)
      return broken()
    },
    truncate: (length) => (failing ? broken() : file.truncate(length)),
  }))
  const { keep, keeper, written, errors, clock, texts } = await keeping(folder, { fs })
  for (let nth = 0; nth < 10; nth += 1) keep(`SECRET ${nth}`)
  await written()
  failing = true
  const [first] = keeper.all()
  if (first !== undefined) keeper.remove(first)
  keep('more')
  await until(() => expect(errors).toMatchObject([{ code: 'quarantine_unwritten' }]))
  failing = false
  await until(async () => {
    await clock.advance(60_000)
    expect(
      filesIn(folder)
        .map((path) => readFileSync(path, 'latin1'))
        .join(''),
    ).not.toContain('SECRET 0')
    expect(filesIn(folder)).toHaveLength(1)
  })
  expect((await keeping(killed(folder))).texts()).toEqual(texts())
})

test('a page that the disk cannot read costs the requests on it', async () => {
  const folder = ownFolder()
  const first = await keeping(folder)
  for (let nth = 0; nth < 4; nth += 1) first.keep(`${nth}`, 'looksLikeOurs', 10_000)
  await first.written()
  const fs = faultyRequests((file) => ({
    read(buffer, offset, length, position) {
      if (position > 8_192 || position + length <= 8_192) return file.read(buffer, offset, length, position)
      return Promise.reject(Object.assign(new Error('bad page'), { code: 'EIO' }))
    },
  }))
  const { texts, errors } = await keeping(killed(folder), { fs })
  expect(texts()).toEqual(['2', '3'])
  expect(errors).toMatchObject([{ code: 'quarantine_damaged' }])
})

test('a disk that hangs delays nothing, not even the end', async () => {
  const folder = ownFolder()
  const fs = faultyRequests(() => ({ write: () => new Promise(() => {}) }))
  const { keep, clock, diskLog, texts } = await keeping(folder, { fs })
  for (let nth = 0; nth < 100; nth += 1) expect(keep(`${nth}`)).toBe('kept')
  await until(() => expect(filesIn(folder)).toHaveLength(1))
  expect(texts()).toHaveLength(100)
  const closed = diskLog.close(3_000)
  await clock.advance(3_000)
  await closed
  expect(diskLog.unwritten()).toHaveLength(100)
})

test('writes at most 8 MiB a second, the best requests first', async () => {
  const folder = ownFolder()
  const { keep, clock, diskLog } = await keeping(folder, { maxBytes: 64 * MIB })
  for (let nth = 0; nth < 200; nth += 1) keep(`ours ${nth}`, 'looksLikeOurs', 100_000)
  for (let nth = 0; nth < 50; nth += 1) keep(`stale ${nth}`, 'provedButStale', 100_000)
  const unwritten = (name: QuarantineClass): number => diskLog.unwritten().filter((each) => each.class === name).length
  await until(() => expect(bytesIn(folder)).toBeGreaterThan(8 * MIB))
  await clock.advance(0)
  expect(bytesIn(folder)).toBeLessThan(9 * MIB)
  expect(unwritten('provedButStale')).toBe(0)
  expect(unwritten('looksLikeOurs')).toBeGreaterThan(150)
  await until(async () => {
    await clock.advance(1_000)
    expect(diskLog.unwritten()).toEqual([])
  })
})

test('overwrites what is removed at once, and the files stay within their limits', async () => {
  const folder = ownFolder()
  const maxBytes = MIB
  const { keep, keeper, written, clock, texts } = await keeping(folder, { maxBytes })
  let largest = 0
  for (let round = 0; round < 60; round += 1) {
    for (let nth = 0; nth < 40; nth += 1) keep(`SECRET ${round}.${nth}.`, 'looksLikeOurs', 5_000)
    await until(async () => {
      await clock.advance(1_000)
      await written()
    })
    largest = Math.max(largest, bytesIn(folder))
    // Most of them, so that the file must move; in the last round a few, which are overwritten in place.
    const goes = (index: number): boolean => (round === 59 ? index % 4 === 0 : index % 3 !== 0)
    for (const [index, request] of keeper.all().entries()) if (goes(index)) keeper.remove(request)
  }
  expect(largest).toBeGreaterThan(0)
  expect(largest).toBeLessThan(3 * maxBytes)
  await until(async () => {
    await clock.advance(1_000)
    const found = filesIn(folder).flatMap((path) => readFileSync(path, 'latin1').match(/SECRET \d+\.\d+\./g) ?? [])
    expect([...new Set(found)].toSorted()).toEqual(texts().toSorted())
  })
})

test('a process that crashes again and again while it moves what it found loses nothing, and does not fill the disk', async () => {
  let folder = ownFolder()
  const first = await keeping(folder)
  for (let nth = 0; nth < 100; nth += 1) first.keep(`${nth}`, 'looksLikeOurs', 20_000)
  await first.written()
  const whole = bytesIn(folder)
  folder = killed(folder)
  for (let death = 0; death < 10; death += 1) {
    let batches = 1 + (death % 4)
    const fs = faultyRequests((file) => ({
      async write(buffer, offset, length, position) {
        batches -= 1
        if (batches > 0) return file.write(buffer, offset, length, position)
        await file.write(buffer, offset, Math.floor(length / 2), position)
        return new Promise(() => {})
      },
    }))
    const dying = await keeping(folder, { fs })
    expect(dying.texts()).toHaveLength(100)
    await until(() => expect(batches).toBe(0))
    expect(bytesIn(folder)).toBeLessThan(2.1 * whole)
    folder = killed(folder)
  }
  const last = await keeping(folder)
  expect(last.texts()).toEqual(first.texts())
  expect(last.errors).toEqual([])
  await until(() => expect(bytesIn(folder)).toBe(whole))
})

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('keep' as const),
      nth: fc.nat(30),
      name: fc.constantFrom(...QUARANTINE_CLASSES),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), nth: fc.nat(30) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('reclass' as const),
      nth: fc.nat(30),
      name: fc.constantFrom(...QUARANTINE_CLASSES),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('clear' as const, 'write' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'kill' as const) }) },
)

test('the next process has whatever the last one had', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      let folder = ownFolder()
      let now = await keeping(folder)
      const shown = ({ keeper }: typeof now) =>
        keeper.all().map(({ id, class: name, sequence, callback }) => ({ id, name, sequence, callback }))
      for (const each of steps) {
        const all = now.keeper.all()
        if (each.do === 'keep') now.keep(`body ${each.nth}`, each.name, 3_000)
        else if (each.do === 'write') await now.written()
        else if (each.do === 'clear') now.keeper.clear()
        else if (each.do === 'remove' || each.do === 'reclass') {
          const request = all[each.nth % Math.max(1, all.length)]
          if (request === undefined) continue
          if (each.do === 'remove') now.keeper.remove(request)
          else now.keeper.reclass(request, standing(each.name))
        } else {
          const before = shown(now)
          if (each.do === 'restart') await now.diskLog.close(1_000)
          else {
            await now.written()
            folder = killed(folder)
          }
          now = await keeping(folder)
          expect(now.errors).toEqual([])
          // A kill may come before removed or replaced requests have been overwritten.
          if (each.do === 'restart') expect(shown(now)).toEqual(before)
          else expect(shown(now).map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)))
        }
      }
      await now.diskLog.close(1_000)
    }),
    { numRuns: 40 },
  )
})
