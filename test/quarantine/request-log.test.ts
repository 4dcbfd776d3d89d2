/** The quarantine's log on the disk by itself: disks that fail, hang or are slow, crashes at any moment, and its size. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import fc from 'fast-check'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import type { QuarantineClass } from '../../src/quarantine/request.ts'
import { QUARANTINE_CLASSES } from '../../src/quarantine/request.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createRequestLog } from '../../src/quarantine/request-log.ts'
import { memoryKeeper } from '../../src/quarantine/keeper.ts'
import type { ExactCallback } from '../../src/quarantine/request.ts'
import { nodeFs, type FileSystem, type OpenedFile } from '../../src/disk-log/file-system.ts'
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
    return path.endsWith('.request') ? replace(file) : {}
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
    .filter((name) => name.endsWith('.request'))
    .map((name) => join(folder, name))
}

function bytesIn(folder: string): number {
  return filesIn(folder).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
}

/** The folder as a kill at this moment would leave it: without its locks held. */
function killed(folder: string): string {
  const copy = ownFolder()
  for (const path of filesIn(folder)) {
    const target = join(copy, relative(folder, path))
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    // It may be removed meanwhile.
    if (existsSync(path)) writeFileSync(target, readFileSync(path), { mode: 0o600 })
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
  const { keep, keeper, written, diskLog, errors, clock, texts } = await keeping(folder, { fs })
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
    expect(filesIn(folder)).toHaveLength(10)
    expect(diskLog.unwritten()).toEqual([])
  })
  expect((await keeping(killed(folder))).texts()).toEqual(texts())
})

test('a disk that hangs delays nothing, not even the end', async () => {
  const folder = ownFolder()
  const fs = faultyRequests(() => ({ write: () => new Promise(() => {}) }))
  const { keep, clock, diskLog, texts } = await keeping(folder, { fs })
  for (let nth = 0; nth < 100; nth += 1) expect(keep(`${nth}`)).toBe('kept')
  await until(() => expect(filesIn(folder)).not.toEqual([]))
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

test('erases what is removed at once', async () => {
  const folder = ownFolder()
  const { keep, keeper, written, texts } = await keeping(folder)
  for (let nth = 0; nth < 40; nth += 1) keep(`SECRET ${nth}.`)
  await written()
  for (const [index, request] of keeper.all().entries()) if (index % 3 !== 0) keeper.remove(request)
  await until(() => {
    const found = filesIn(folder).map((path) => /SECRET \d+\./.exec(readFileSync(path, 'latin1'))?.[0])
    expect(found.toSorted()).toEqual(texts().toSorted())
  })
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
