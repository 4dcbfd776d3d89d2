import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import type { NewEvent } from '../../../src/messages/event-record.ts'
import { emptyAll, emptiedNames, event, events, filesIn, largeEvent, segmentFiles, spooling } from './spooling.ts'

const KIB = 1024

test('returns exactly what was appended, whatever bytes and characters it has', async () => {
  const odd: readonly NewEvent[] = [
    event('nul \u0000 inside', Buffer.from([0, 1, 0, 255, 0])),
    event('lone \ud800 and \udfff'),
    event('', Buffer.alloc(0)),
    event('ends in zeros', Buffer.alloc(100)),
    largeEvent('large', 256 * KIB),
    event('long id '.repeat(25_000)),
    event('"quotes" \\ and \n lines \u2028'),
  ]
  const { spool, folder } = await spooling()
  for (const one of odd) await spool.append([one])
  await spool.append(odd)
  expect(spool.size).toBe(14)
  const drained = await emptyAll(spool)
  expect(drained.map(asText)).toEqual([...odd, ...odd].map(asText))
  expect(spool.size).toBe(0)
  expect(spool.bytes).toBe(0)
  expect(segmentFiles(folder)).toEqual([])
})

test('a record counts from the moment of its append, so that nothing overtakes it', async () => {
  const { spool } = await spooling()
  const appended = spool.append(events('e', 3))
  expect(spool.size).toBe(3)
  await appended
  expect(spool.size).toBe(3)
})

test('refuses what exceeds its limit, and reports that', async () => {
  const { spool } = await spooling({ maxBytes: 10 * KIB })
  await spool.append([largeEvent('a', 6 * KIB)])
  await expect(spool.append([largeEvent('b', 6 * KIB)])).rejects.toMatchObject({ code: 'spool_full' })
  const both = [spool.append([largeEvent('c', 2 * KIB)]), spool.append([largeEvent('d', 2 * KIB)])]
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(spool.size).toBe(2)
  expect(await emptiedNames(spool)).toEqual(['a', 'c'])
  await spool.append([largeEvent('e', 6 * KIB)])
})

test('after close it accepts and dispatches nothing, and pending writes are complete', async () => {
  const { spool, folder } = await spooling()
  const appended = Promise.all(events('e', 10).map((one) => spool.append([one])))
  await spool.close()
  await appended
  await expect(spool.append(events('f', 1))).rejects.toMatchObject({ code: 'receiver_closed' })
  await expect(spool.empty(async () => {})).rejects.toMatchObject({ code: 'receiver_closed' })
  const again = await spooling({ folder })
  expect((await emptiedNames(again.spool)).length).toBe(10)
})

test('only the owner can access files and folders', async () => {
  const { spool, folder } = await spooling({ reserveBytes: 64 * KIB })
  await spool.append(events('e', 1))
  const files = filesIn(folder).filter((path) => !path.endsWith('lock'))
  expect(files.length).toBe(2)
  for (const file of files) {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
  }
})

/** Comparing long buffers element by element is slow. */
function asText({ raw, ...fields }: NewEvent) {
  return { ...fields, raw: raw.toString('latin1') }
}
