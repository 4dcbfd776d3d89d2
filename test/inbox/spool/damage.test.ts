import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EVENT_LOG } from '../../../src/inbox/spool/segment.ts'
import { encodeRecord } from '../../../src/disk-log/record.ts'
import type { NewEvent } from '../../../src/messages/event-record.ts'
import { crashed, emptiedNames, event, events, largeEvent, nameOf, segmentFiles, spooling } from './spooling.ts'
import { faultyFs, systemError } from '../../support/faulty-fs.ts'

/** Ten records in one file, as a crash left them, and where each begins. */
async function tenRecords(sent: readonly NewEvent[] = events('e', 10)) {
  const { spool, folder } = await spooling()
  await spool.append(sent)
  const copy = await crashed(folder)
  const [path = ''] = segmentFiles(copy)
  const starts = [0]
  for (const one of sent) starts.push((starts.at(-1) ?? 0) + encodeRecord(EVENT_LOG, one, 0).length)
  expect(starts.at(-1)).toBe(readFileSync(path).length)
  return { folder: copy, path, starts }
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8((bytes[at] ?? 0) ^ 0x40, at)
  writeFileSync(path, bytes)
}

const withoutFifth = events('e', 10)
  .map(nameOf)
  .filter((name) => name !== 'e5')

test('finds the next record across the borders of read chunks', async () => {
  const sent = [largeEvent('a', 1024 * 1024 - 700), event('b'), largeEvent('c', 3_000_000), event('d'), event('e')]
  const { folder, path, starts } = await tenRecords(sent)
  flip(path, 1)
  flip(path, (starts[2] ?? 0) + 1)
  const { spool, errors } = await spooling({ folder })
  expect(await emptiedNames(spool)).toEqual(['b', 'd', 'e'])
  expect(errors.map(({ code }) => code)).toEqual(['spool_damaged', 'spool_damaged'])
})

test('a batch that is read again is not reported again', async () => {
  const { folder, path, starts } = await tenRecords()
  flip(path, (starts[4] ?? 0) + 60)
  const { spool, errors } = await spooling({ folder })
  for (let attempt = 0; attempt < 3; attempt += 1)
    await expect(spool.empty(() => Promise.reject(new Error('unavailable')))).rejects.toThrow('unavailable')
  expect(await emptiedNames(spool)).toEqual(withoutFifth)
  expect(errors.length).toBe(1)
})

test('reports a missing file, and continues', async () => {
  const { spool, folder, errors } = await spooling({ segmentBytes: 1 })
  for (const one of events('e', 3)) await spool.append([one])
  rmSync(segmentFiles(folder)[1] ?? '')
  expect(await emptiedNames(spool)).toEqual(['e1', 'e3'])
  expect(errors.map(({ code }) => code)).toEqual(['spool_damaged'])
  expect(spool.size).toBe(0)
})

test('a page that the disk cannot read costs the records on it', async () => {
  const { folder, starts } = await tenRecords(Array.from({ length: 10 }, (_, at) => largeEvent(`e${at + 1}`, 10_000)))
  const bad = (starts[4] ?? 0) + 5_000
  const fs = faultyFs((real) => ({
    read(buffer, offset, length, position) {
      if (position <= bad && bad < position + length) return Promise.reject(systemError('EIO'))
      return real.read(buffer, offset, length, position)
    },
  }))
  const { spool, errors } = await spooling({ folder, fs })
  expect(spool.size).toBe(10)
  expect(await emptiedNames(spool)).toEqual(withoutFifth)
  expect(errors.map(({ code }) => code)).toEqual(['spool_damaged'])
})

test('keeps what a disk cannot read for a while: the next process finds it', async () => {
  const { folder, path } = await tenRecords(Array.from({ length: 10 }, (_, at) => largeEvent(`e${at + 1}`, 10_000)))
  let failing = false
  const fs = faultyFs((real) => ({
    read: (...args) => (failing ? Promise.reject(systemError('EIO')) : real.read(...args)),
  }))
  const { spool, errors } = await spooling({ folder, fs })
  await spool.append(events('f', 2))
  const drained: string[] = []
  await spool.empty(async (batch) => {
    drained.push(...batch.map(nameOf))
    failing = true
  })
  await spool.close()
  expect(errors.map(({ code }) => code)).toEqual(['spool_damaged'])
  expect(drained).toEqual(Array.from({ length: 10 }, (_, at) => `e${at + 1}`))
  const next = await spooling({ folder })
  expect(await emptiedNames(next.spool)).toEqual(['f1', 'f2'])
  expect(next.errors).toEqual([])
  expect(segmentFiles(folder)).not.toContain(path)
})
