/** The spool on its real file and thread: durable in order, counted, bounded, private, and erasable. */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import type { NewEvent } from 'messaging-webhooks/store'
import { expect, onTestFinished, test } from 'vitest'
import { isErased, openSpool, type Spool, type Spooled } from '../../src/inbox/spool.ts'
import { createLocalFile } from '../../src/local-file/local-file.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sample } from '../../src/store-conformance/samples.ts'
import { ownFolder } from '../support/own-folder.ts'

async function spooling(options: { readonly folder?: string; readonly maxBytes?: number } = {}) {
  const { folder = ownFolder(), maxBytes } = options
  const errors: MessagingWebhooksError[] = []
  const report = (error: MessagingWebhooksError): void => void errors.push(error)
  const file = createLocalFile({ folder, option: '`spool`', report, maxBytes })
  onTestFinished(() => file.close())
  let found = 0
  const spool = await openSpool({ clock: systemClock(), file, leaseMs: 10_000, report, onFound: () => (found += 1) })
  return { spool, file, errors, folder, found: () => found }
}

const event = (name: string, raw = Buffer.from(`{"name":"${name}"}`)): NewEvent => sample({ message: name, name, raw })

const events = (prefix: string, count: number): readonly NewEvent[] =>
  Array.from({ length: count }, (_, index) => event(`${prefix}${index + 1}`))

const appendAll = (spool: Spool, all: readonly NewEvent[]) => Promise.all(all.map((each) => spool.append(each)))

/** Takes and removes everything, as the relay does. */
async function emptied(spool: Spool): Promise<readonly Spooled['event'][]> {
  const all: Spooled['event'][] = []
  for (;;) {
    const batch = (await spool.take()) ?? []
    if (batch.length === 0) return all
    all.push(...batch.map((each) => each.event))
    await spool.remove(batch)
  }
}

/** Comparing long buffers element by element is slow. */
const asText = (each: Spooled['event']) => ({ ...each, raw: each.raw?.toString('latin1') })

test('returns exactly what was appended, in order, whatever bytes and characters it has', async () => {
  const odd = [
    event('nul \u0000 inside', Buffer.from([0, 1, 0, 255, 0])),
    event('lone \ud800 and \udfff'),
    event('', Buffer.alloc(0)),
    event('ends in zeros', Buffer.alloc(100)),
    event('large', Buffer.alloc(256 * 1024, 'large')),
    event('long id '.repeat(25_000)),
    event('"quotes" \\ and \n lines \u2028'),
  ]
  const { spool } = await spooling()
  for (const one of odd) await spool.append(one)
  await appendAll(spool, odd)
  expect((await emptied(spool)).map(asText)).toEqual([...odd, ...odd].map(asText))
})

test('an event counts, and holds later ones of its message, from its append until it is removed', async () => {
  const { spool } = await spooling()
  const [first, second] = [event('a'), event('b')]
  const appended = spool.append(first)
  const held = (): object => ({ a: spool.holds(first.messageKey), b: spool.holds(second.messageKey) })
  expect({ ...held(), waiting: spool.waiting, active: spool.isActive }).toEqual({
    a: true,
    b: false,
    waiting: 1,
    active: true,
  })
  await appended
  expect({ ...held(), waiting: spool.waiting }).toEqual({ a: true, b: false, waiting: 1 })
  const batch = (await spool.take()) ?? []
  expect(held()).toEqual({ a: true, b: false })
  await spool.remove(batch)
  expect({ ...held(), waiting: spool.waiting, active: spool.isActive }).toEqual({
    a: false,
    b: false,
    waiting: 0,
    active: false,
  })
})

test('the next process finds the events of the last, and knows their messages', async () => {
  const folder = ownFolder()
  const before = await spooling({ folder })
  await appendAll(before.spool, events('e', 10))
  await before.spool.close()
  await before.file.close()
  await expect(before.spool.append(event('f'))).rejects.toMatchObject({ code: 'receiver_closed' })
  const { spool, found } = await spooling({ folder })
  expect({ waiting: spool.waiting, found: found(), held: spool.holds(event('e10').messageKey) }).toEqual({
    waiting: 10,
    found: 2,
    held: true,
  })
  expect((await emptied(spool)).map(({ id }) => id)).toEqual(events('e', 10).map(({ id }) => id))
})

test('another process notices events, and that they have left', async () => {
  const folder = ownFolder()
  const [one, other] = [await spooling({ folder }), await spooling({ folder })]
  const { messageKey } = event('a')
  await one.spool.append(event('a'))
  await expect.poll(() => other.spool.holds(messageKey), { timeout: 10_000 }).toBe(true)
  expect(other.found()).toBeGreaterThan(0)
  await emptied(one.spool)
  await expect.poll(() => other.spool.isActive, { timeout: 10_000 }).toBe(false)
  expect(other.spool.holds(messageKey)).toBe(false)
})

test('only one process takes events at a time, until its lease ends or is released', async () => {
  const folder = ownFolder()
  const [one, other] = [await spooling({ folder }), await spooling({ folder })]
  await one.spool.append(event('a'))
  expect(await one.spool.take()).toHaveLength(1)
  expect(await other.spool.take()).toBeUndefined()
  await one.spool.close()
  expect(await other.spool.take()).toHaveLength(1)
})

test('refuses what exceeds its limit, and takes events again when there is room', async () => {
  const { spool } = await spooling({ maxBytes: 100 * 1024 })
  const large = (name: string) => event(name, Buffer.alloc(50 * 1024, name))
  expect(await spool.canTake()).toBe(true)
  await spool.append(large('a'))
  expect(await spool.canTake()).toBe(false)
  await expect(spool.append(large('b'))).rejects.toMatchObject({ code: 'spool_full' })
  expect(await emptied(spool)).toHaveLength(1)
  expect(await spool.canTake()).toBe(true)
  await spool.append(large('c'))
})

test('only the owner can access the folder and the files in it', async () => {
  const { spool, folder, file } = await spooling({ folder: join(ownFolder(), 'a', 'b') })
  await spool.append(event('a'))
  const files = readdirSync(folder)
  expect(files).toContain('local.db')
  for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(file.path)).mode & 0o777).toBe(0o700)
})

/** The content of all files. */
const contents = (folder: string): string =>
  readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('')

test('leaves only the identity of erased events, in their place, and no bytes of them in the files', async () => {
  const { spool, folder } = await spooling()
  const given = events('number-', 600)
  await appendAll(spool, given)
  const isMeant = ({ id }: NewEvent): boolean => [given[4], given[599]].some((each) => each?.id === id)
  expect(await spool.forget(isMeant, true)).toBe(2)
  expect(contents(folder)).toContain('"number-5"')
  expect(await spool.forget(isMeant, false)).toBe(2)
  expect(await spool.forget(isMeant, false)).toBe(0)
  for (const name of ['"number-5"', '"number-600"']) expect(contents(folder)).not.toContain(name)
  expect(contents(folder)).toContain('"number-599"')
  const left = await emptied(spool)
  expect(left.map(({ id }) => id)).toEqual(given.map(({ id }) => id))
  expect(left.filter(isErased).map(({ id, messageKey }) => ({ id, messageKey }))).toEqual(
    given.filter(isMeant).map(({ id, messageKey }) => ({ id, messageKey })),
  )
})

test('an event that is erased on its way to the store stays, as erased', async () => {
  const { spool } = await spooling()
  await appendAll(spool, events('e', 3))
  const taken = (await spool.take()) ?? []
  expect(await spool.forget(({ id }) => id === event('e2').id, false)).toBe(1)
  await spool.remove(taken)
  const [left, ...others] = (await spool.take()) ?? []
  expect(others).toEqual([])
  expect(left?.event).toEqual({ id: event('e2').id, messageKey: event('e2').messageKey })
})

test('a row that cannot be read stays and is reported, and the others are taken', async () => {
  const { spool, file, errors } = await spooling()
  await appendAll(spool, events('e', 3))
  const db = new DatabaseSync(file.path)
  db.exec(`UPDATE spool SET fields = replace(fields, '"record"', '"other"') WHERE id = 2`)
  db.close()
  expect((await emptied(spool)).map(({ id }) => id)).toEqual([event('e1').id, event('e3').id])
  expect(errors.map(({ code, detail }) => `${code} ${detail?.replace(file.path, 'path')}`)).toEqual([
    'spool_damaged path: rows 2.',
  ])
  expect(spool.refused).toBe(1)
})
