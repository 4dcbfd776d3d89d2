/** Erasing spooled events removes their bytes from the files; their keys and all other events drain unchanged. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { NewEvent } from '../../../src/messages/event-record.ts'
import { isForgotten } from '../../../src/inbox/spool/segment.ts'
import { crashed, emptyAll, event, events, nameOf, spooling } from './spooling.ts'
import { gate } from '../../support/gate.ts'

/** The content of all files. */
function contents(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('')
}

const isNamed =
  (...names: readonly string[]) =>
  (each: NewEvent): boolean =>
    names.includes(nameOf(each))

test('leaves only the keys of the erased events, in their place, and damages nothing, also after a crash', async () => {
  const { spool, folder, errors } = await spooling()
  // A tiny body has the least room for its replacement.
  const tiny = event('tiny', Buffer.from('x'))
  const given = [...events('a', 3), tiny, event('large', Buffer.from('secret '.repeat(10_000))), ...events('b', 3)]
  await spool.append(given)
  const { length } = contents(folder)
  const isMeant = isNamed('a2', 'tiny', 'large', 'b3')
  expect(await spool.forget(isMeant, true)).toBe(4)
  expect(contents(folder)).toContain('secret')
  expect(await spool.forget(isMeant, false)).toBe(4)
  expect(await spool.forget(isMeant, false)).toBe(0)
  const left = contents(folder)
  expect(left).toHaveLength(length)
  for (const name of ['secret', '"a2"', '"tiny"', '"b3"']) expect(left).not.toContain(name)

  const later = await spooling({ folder: await crashed(folder) })
  for (const { spool: either, errors: reported } of [{ spool, errors }, later]) {
    const drained = await emptyAll(either)
    expect(drained.map(({ id }) => id)).toEqual(given.map(({ id }) => id))
    expect(drained.map(({ messageKey }) => messageKey)).toEqual(given.map(({ messageKey }) => messageKey))
    expect(drained.filter((each) => !isForgotten(each))).toEqual(given.filter((each) => !isMeant(each)))
    expect(reported).toEqual([])
    expect(either.size).toBe(0)
  }
})

test('waits for events being dispatched, and does not dispatch the bytes of what was read ahead', async () => {
  const { spool, folder } = await spooling()
  const given = events('e', 600)
  await spool.append(given)
  const { open: release, opened: held } = gate()
  const drained: NewEvent[] = []
  const emptying = spool.empty(async (batch) => {
    drained.push(...batch)
    await held
  })
  await expect.poll(() => drained.length).toBeGreaterThan(0)
  const inFlight = drained.length
  expect(inFlight).toBeLessThan(600)
  let forgotten: number | undefined
  const forgetting = spool.forget(isNamed('e1', 'e600'), false).then((count) => (forgotten = count))
  await spool.append(events('later', 1))
  expect(forgotten).toBeUndefined()
  release()
  await forgetting
  // The first was dispatched although it was still in the file.
  expect(forgotten).toBe(1)
  await emptying
  expect(drained.map(({ id }) => id)).toEqual([...given, ...events('later', 1)].map(({ id }) => id))
  expect(drained.filter(isForgotten).map(({ id }) => id)).toEqual([given.at(-1)?.id])
  expect(contents(folder)).not.toContain('"e600"')
})
