import type { QuarantineClass } from 'messaging-webhooks'
import { QUARANTINE_CLASSES } from '../../src/quarantine/request.ts'
import { expect, test } from 'vitest'
import { memoryKeeper } from '../../src/quarantine/keeper.ts'
import type { ExactCallback } from '../../src/quarantine/request.ts'
import { refusedWith, standing } from '../support/kept-requests.ts'

/** So large that what is counted beside it hardly matters. */
const BODY_BYTES = 100_000
const MAX_BYTES = 1_650_000
const HALF = 8

function arrived(text: string, bytes = BODY_BYTES): ExactCallback {
  return refusedWith(Buffer.from(text.padEnd(bytes)))
}

function filled(names: readonly QuarantineClass[], count: number) {
  const keeper = memoryKeeper({ maxBytes: MAX_BYTES, maxAgeMs: 1_000 })
  for (const name of names)
    for (let nth = 0; nth < count; nth += 1) keeper.keep(arrived(`${name} ${nth}`), standing(name))
  return keeper
}

function textsOf(keeper: ReturnType<typeof filled>): readonly string[] {
  return keeper.all().map(({ callback }) => callback.captured.bytes.toString().trim())
}

test('neither budget takes more than half of the room, and of one class what came first stays', () => {
  for (const name of QUARANTINE_CLASSES) {
    const keeper = filled([name], 20)
    expect(textsOf(keeper)).toEqual(Array.from({ length: HALF }, (_, nth) => `${name} ${nth}`))
    expect(keeper.dropped).toBe(20 - HALF)
  }
})

test('what looks like a callback takes its room from what no key can prove, newest first, and nothing from what is proved', () => {
  const keeper = filled(['rest', 'provedButStale'], 20)
  for (let nth = 0; nth < 7; nth += 1) keeper.keep(arrived(`ours ${nth}`), standing('looksLikeOurs'))
  expect(keeper.count('rest')).toBe(1)
  expect(textsOf(keeper)[0]).toBe('rest 0')
  for (let nth = 0; nth < 6; nth += 1) keeper.keep(arrived(`unverified ${nth}`), standing('unverified'))
  expect(keeper.count('rest')).toBe(0)
  expect(keeper.count('looksLikeOurs') + keeper.count('unverified')).toBe(HALF)
  expect(keeper.keep(arrived('one more'), standing('rest'))).toBe('dropped')
  expect(keeper.count('provedButStale')).toBe(HALF)
})

test('a body that comes again with a better proof is not lost where that budget is full', () => {
  const keeper = filled(['looksLikeOurs', 'provedButStale'], 20)
  expect(keeper.keep(arrived('looksLikeOurs 3'), standing('provedButStale'))).toBe('known')
  expect(keeper.keep(arrived('looksLikeOurs 4'), standing('unverified'))).toBe('kept')
  expect(keeper.size).toBe(2 * HALF)
  const [request] = keeper.unchecked()
  if (request === undefined) throw new Error('Nothing is kept.')
  keeper.reclass(request, standing('provedButStale'))
  expect(keeper.size).toBe(2 * HALF)
  expect(keeper.count('unchecked')).toBe(0)
  expect(keeper.count('unverified')).toBe(1)
})

test('what was replaced or removed meanwhile is left alone', () => {
  const keeper = memoryKeeper({ maxBytes: MAX_BYTES, maxAgeMs: 1_000 })
  keeper.keep(arrived('same'), standing('rest'))
  const [first] = keeper.all()
  if (first === undefined) throw new Error('Nothing is kept.')
  keeper.keep(arrived('same'), standing('provedButStale'))
  keeper.remove(first)
  keeper.reclass(first, standing('rest'))
  expect(keeper.count('provedButStale')).toBe(1)
  expect(keeper.size).toBe(1)
})

test('the bytes are its own', () => {
  const keeper = memoryKeeper({ maxBytes: MAX_BYTES, maxAgeMs: 1_000 })
  const callback = arrived('as it came', 20)
  keeper.keep(callback, standing('rest'))
  callback.captured.bytes.fill(0)
  const [kept] = keeper.all()
  expect(kept?.callback.captured.bytes.toString().trim()).toBe('as it came')
  expect(kept?.callback.captured.bytes.buffer.byteLength).toBe(20)
})
