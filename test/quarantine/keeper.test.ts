import fc from 'fast-check'
import type { QuarantineClass } from 'messaging-webhooks'
import { QUARANTINE_CLASSES } from '../../src/quarantine/request.ts'
import { expect, test } from 'vitest'
import { memoryKeeper } from '../../src/quarantine/keeper.ts'
import type { ExactCallback, Standing } from '../../src/quarantine/request.ts'

/** So large that what is counted beside it hardly matters. */
const BODY_BYTES = 100_000
const MAX_BYTES = 1_650_000
const HALF = 8

function arrived(text: string, arrivedAtMs = 0, bytes = BODY_BYTES): ExactCallback {
  return {
    kind: 'status',
    policy: 'either',
    signatures: [],
    contentEncoding: undefined,
    captured: { kind: 'exact', decoded: false, bytes: Buffer.from(text.padEnd(bytes)) },
    arrivedAtMs,
    remoteAddress: undefined,
  }
}

function standing(name: QuarantineClass, unchecked = name === 'unverified'): Standing {
  return { class: name, unchecked, code: 'signature_missing', offsetSeconds: undefined, project: undefined }
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

test('no class takes more than its share, and of one class what came first stays', () => {
  const shares = { provedButStale: HALF, unverified: HALF, looksLikeOurs: HALF, rest: 2 }
  for (const name of QUARANTINE_CLASSES) {
    const keeper = filled([name], 20)
    expect(textsOf(keeper)).toEqual(Array.from({ length: shares[name] }, (_, nth) => `${name} ${nth}`))
    expect(keeper.dropped).toBe(20 - shares[name])
  }
})

test('a better class takes its room from the worst, newest first', () => {
  const keeper = filled(['rest', 'looksLikeOurs'], 20)
  for (let nth = 0; nth < 7; nth += 1) keeper.keep(arrived(`stale ${nth}`), standing('provedButStale'))
  expect(keeper.count('rest')).toBe(1)
  expect(textsOf(keeper)[0]).toBe('rest 0')
  for (let nth = 0; nth < 6; nth += 1) keeper.keep(arrived(`unverified ${nth}`), standing('unverified'))
  expect(keeper.count('rest')).toBe(0)
  expect(textsOf(keeper).slice(0, 3)).toEqual(['looksLikeOurs 0', 'looksLikeOurs 1', 'looksLikeOurs 2'])
  expect(keeper.count('looksLikeOurs')).toBe(3)
  expect(keeper.keep(arrived('one more'), standing('looksLikeOurs'))).toBe('dropped')
  expect(keeper.count('provedButStale')).toBe(7)
})

test('a body that comes again with a better proof is not lost where that class is full', () => {
  const keeper = filled(['looksLikeOurs', 'unverified'], 20)
  expect(keeper.keep(arrived('looksLikeOurs 3'), standing('unverified'))).toBe('known')
  expect(keeper.size).toBe(2 * HALF)
  const [request] = keeper.unchecked()
  if (request === undefined) throw new Error('Nothing is kept.')
  keeper.reclass(request, standing('looksLikeOurs'))
  expect(keeper.size).toBe(2 * HALF)
  expect(keeper.count('unchecked')).toBe(HALF - 1)
  expect(keeper.unchecked()).not.toContain(request)
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
  const callback = arrived('as it came', 0, 20)
  keeper.keep(callback, standing('rest'))
  callback.captured.bytes.fill(0)
  const [kept] = keeper.all()
  expect(kept?.callback.captured.bytes.toString().trim()).toBe('as it came')
  expect(kept?.callback.captured.bytes.buffer.byteLength).toBe(20)
})

test('whatever happens, the counts are those of what is kept, and within the bounds', () => {
  const step = fc.record({
    name: fc.constantFrom(...QUARANTINE_CLASSES),
    body: fc.nat({ max: 40 }),
    bytes: fc.constantFrom(10, 1_000, BODY_BYTES),
    does: fc.constantFrom('keep', 'keep', 'keep', 'remove', 'reclass', 'expire'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const keeper = memoryKeeper({ maxBytes: 10 * BODY_BYTES, maxAgeMs: 50 })
      for (const [now, { name, body, bytes, does }] of steps.entries()) {
        const kept = keeper.all()
        const one = kept[body % Math.max(1, kept.length)]
        if (does === 'keep') keeper.keep(arrived(String(body), now, bytes), standing(name))
        else if (does === 'expire') keeper.expire(now)
        else if (one !== undefined && does === 'remove') keeper.remove(one)
        else if (one !== undefined) keeper.reclass(one, standing(name))
        const all = keeper.all()
        expect(all.map(({ sequence }) => sequence)).toEqual(
          [...all.map(({ sequence }) => sequence)].sort((a, b) => a - b),
        )
        expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
        for (const each of QUARANTINE_CLASSES)
          expect(keeper.count(each)).toBe(all.filter((request) => request.class === each).length)
        expect(keeper.count('unchecked')).toBe(keeper.unchecked().length)
        expect(keeper.bytes).toBeLessThanOrEqual(10 * BODY_BYTES)
        expect(keeper.bytes === 0).toBe(all.length === 0)
        if (does === 'expire') expect(all.every(({ callback }) => now - callback.arrivedAtMs < 50)).toBe(true)
      }
    }),
    { numRuns: 200 },
  )
})
