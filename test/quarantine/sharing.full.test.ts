/** How requests share the budget: what was kept in time stays, whatever a flood brings. */
import fc from 'fast-check'
import type { QuarantineClass } from '../../src/quarantine/request.ts'
import {
  QUARANTINE_CLASSES,
  bytesOf,
  type ExactCallback,
  type KeptRequest,
  type Standing,
} from '../../src/quarantine/request.ts'
import { describe, expect, test } from 'vitest'
import { refusedWith, standing } from '../support/kept-requests.ts'
import { inProcessFile } from '../support/in-process-file.ts'
import { packRequest } from '../../src/quarantine/stored.ts'
import { idOf, memoryKeeper } from '../../src/quarantine/keeper.ts'

/** `npm run test:flood` tests more of each. */
const WHOLE = process.env['FORGERIES'] !== undefined
const MIB = 1024 * 1024
const LIMITS = { maxBytes: 16 * MIB, maxAgeMs: 72 * 3_600_000 }
/** The budget of unproved requests. */
const MAX_BYTES = LIMITS.maxBytes / 2
const SMALL_BYTES = 4 * 1024
const PADDING = ' '.repeat(256 * 1024)

type Keeper = ReturnType<typeof memoryKeeper>

/** The table of the local file, as a keeper. */
async function tableKeeper(maxBytes: number) {
  const { tables } = await inProcessFile()
  let sequence = 0
  return {
    keep(callback: ExactCallback, given: Standing): void {
      const request = { ...given, id: idOf(callback), sequence: (sequence += 1), callback }
      tables.keepRequests([packRequest(request)], callback.captured.bytes, maxBytes)
    },
    texts: () =>
      tables
        .requestPage({ after: 0, limit: Infinity, maxBytes: Infinity })
        .map(({ raw }) => Buffer.from(raw).toString('latin1', 0, 40).trim()),
    totals: tables.requestTotals,
  }
}

interface Sent {
  readonly text: string
  readonly bytes: number
  readonly project?: string | undefined
  readonly atMs?: number
  readonly class?: QuarantineClass
}

function arrived({ text, bytes, atMs = 0 }: Sent): ExactCallback {
  const body = Buffer.from(text + PADDING.slice(0, bytes - text.length))
  return refusedWith(body, { arrivedAtMs: atMs })
}

function standingOf({ class: name = 'looksLikeOurs', project }: Pick<Sent, 'class' | 'project'>): Standing {
  return standing(name, { project })
}

function keep(keeper: Keeper, sent: Sent) {
  return keeper.keep(arrived(sent), standingOf(sent))
}

function textOf({ callback }: KeptRequest): string {
  return callback.captured.bytes.toString('latin1', 0, 40).trim()
}

/** How many kept requests have a text that begins so. */
function kept(keeper: Keeper, beginning: string): number {
  return keeper.all().filter((request) => textOf(request).startsWith(beginning)).length
}

const real = (nth: number, more: Partial<Sent> = {}): Sent => {
  return { text: `real ${nth}`, bytes: 250 + (nth % 251), project: 'My Shop', ...more }
}
const forged = (nth: number, more: Partial<Sent> = {}): Sent => {
  return { text: `forged ${nth}`, bytes: 1024 * (1 + (nth % 255)), project: 'My Shop', ...more }
}

const ADVERSARIES: readonly (readonly [who: string, as: (nth: number) => Partial<Sent>])[] = [
  ['one that names the real project', () => ({})],
  ['a thousand, each with a name of its own', (nth) => ({ project: `p${nth}` })],
  ['one that names nothing', () => ({ project: undefined })],
  ['one whose requests no key can prove', () => ({ class: 'rest' })],
  ['one that sends the smallest', (nth) => ({ bytes: 12 + (nth % 20) })],
]

describe.each(['looksLikeOurs', 'unverified'] as const)('1,000 real ones in %s', (name) => {
  describe.each(ADVERSARIES)('amid forgeries of 1 to 255 KB from %s', (_who, as) => {
    test.each(['before', 'while', 'after'])('are kept if the forgeries come %s them', (when) => {
      const keeper = memoryKeeper(LIMITS)
      const flood = (from: number, to: number): void => {
        for (let nth = from; nth < to; nth += 1) keep(keeper, { class: name, ...forged(nth, as(nth)) })
      }
      if (when === 'before') flood(0, 300)
      for (let nth = 0; nth < 1_000; nth += 1) {
        expect(keep(keeper, { ...real(nth), class: name })).toBe('kept')
        if (when === 'while') flood(nth, nth + 1)
      }
      if (when === 'after') flood(0, 300)
      expect(kept(keeper, 'real')).toBe(1_000)
    })
  })
})

describe.each(ADVERSARIES)('in the table, amid forgeries of 1 to 255 KB from %s', (_who, as) => {
  test.each(['before', 'while', 'after'])('1,000 real ones are kept if the forgeries come %s them', async (when) => {
    const keeper = await tableKeeper(LIMITS.maxBytes)
    const flood = (from: number, to: number): void => {
      for (let nth = from; nth < to; nth += 1) {
        const sent = { ...forged(nth, as(nth)), atMs: nth }
        keeper.keep(arrived(sent), standingOf(sent))
      }
    }
    if (when === 'before') flood(0, 300)
    for (let nth = 0; nth < 1_000; nth += 1) {
      keeper.keep(arrived(real(nth)), standingOf(real(nth)))
      if (when === 'while') flood(nth, nth + 1)
    }
    if (when === 'after') flood(0, 300)
    expect(keeper.texts().filter((text) => text.startsWith('real'))).toHaveLength(1_000)
    const { bytes, counts } = keeper.totals()
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(keeper.texts().length)
  })
})

test('in the table, what outsiders cannot forge has a half of the budget', async () => {
  const maxBytes = MIB
  const keeper = await tableKeeper(maxBytes)
  const keepAll = (count: number, sent: (nth: number) => Sent): void => {
    for (let nth = 0; nth < count; nth += 1) keeper.keep(arrived(sent(nth)), standingOf(sent(nth)))
  }
  keepAll(100, (nth) => real(nth, { class: 'provedButStale' }))
  keepAll(2_000, (nth) => forged(nth, { bytes: 300 }))
  expect(keeper.texts().filter((text) => text.startsWith('real'))).toHaveLength(100)
  keepAll(2_000, (nth) => ({ text: `stale ${nth}`, bytes: 300, class: 'provedButStale' }))
  const { bytes, counts } = keeper.totals()
  expect(bytes).toBeLessThanOrEqual(maxBytes)
  for (const count of [counts[0], counts[2]]) expect(count).toBeGreaterThan(500)
})

describe('forgeries of the same size as the real ones', () => {
  /** More than the budget holds. */
  const MANY = 8_000
  const alike = (nth: number, more: Partial<Sent>): Sent => forged(nth, { bytes: 250 + (nth % 251), ...more })

  function flooded(as: (nth: number) => Partial<Sent>, before: number, atMs = 0): Keeper {
    const keeper = memoryKeeper(LIMITS)
    for (let nth = 0; nth < before; nth += 1) keep(keeper, real(nth, { atMs }))
    for (let nth = 0; nth < MANY; nth += 1) keep(keeper, alike(nth, { ...as(nth), atMs }))
    return keeper
  }

  test('the earliest three quarters stay, and new ones displace later ones', () => {
    const as = () => ({})
    expect(kept(flooded(as, 1_000), 'real')).toBe(1_000)
    const keeper = flooded(as, 0)
    const capacity = keeper.size
    for (let nth = 0; nth < 5 * capacity; nth += 1) keep(keeper, real(nth))
    expect(kept(keeper, 'forged') / capacity).toBeCloseTo(3 / 4, 1)
    expect(kept(keeper, `real ${5 * capacity - 1}`)).toBe(1)
  })

  test('under any flood, a thousand earlier real ones stay', () => {
    const names = [() => 'My Shop', () => 'Other', (nth: number) => `p${nth}`]
    const sizes = [() => 1, () => 300, (nth: number) => 250 + (nth % 251), (nth: number) => 1 + ((nth * 37) % 8_000)]
    for (const [nthName, project] of names.entries())
      for (const [nthSize, size] of sizes.entries()) {
        // In the short form each name and each size meets a third of the others.
        if (!WHOLE && (nthName + nthSize) % 3 !== 0) continue
        const as = (nth: number) => ({ project: project(nth), bytes: Math.max(12, size(nth)) })
        expect(kept(flooded(as, 1_000), 'real')).toBe(1_000)
      }
  })
})

test('the whole half of the budget is used', () => {
  const keeper = memoryKeeper(LIMITS)
  for (let nth = 0; nth < 8_000; nth += 1) keep(keeper, real(nth))
  expect(keeper.bytes / MAX_BYTES).toBeGreaterThan(0.93)
})

describe('any sequence of requests', () => {
  const ROOM_OF_ALL = 400_000
  const BUDGET = ROOM_OF_ALL / 2
  const isProved = (name: QuarantineClass): boolean => name === 'provedButStale'
  const step = fc.record({
    does: fc.constantFrom('keep', 'keep', 'keep', 'keep', 'keep', 'keep', 'remove', 'reclass', 'expire', 'clear'),
    class: fc.constantFrom('looksLikeOurs', 'looksLikeOurs', ...QUARANTINE_CLASSES),
    text: fc.nat({ max: 300 }).map(String),
    bytes: fc.oneof(fc.integer({ min: 3, max: 5_000 }), fc.constantFrom(3, 512, 513, 4_096, 4_097, 40_000, 250_000)),
    project: fc.constantFrom(undefined, 'p', 'p', 'q', 'r'),
    times: fc.integer({ min: 1, max: 40 }),
  })
  const heldBy = (all: readonly KeptRequest[], like: (request: KeptRequest) => boolean): number =>
    all.filter(like).reduce((sum, request) => sum + bytesOf(request), 0)

  function expectRightCounts(keeper: Keeper): void {
    const all = keeper.all()
    expect(keeper.size).toBe(all.length)
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
    expect(keeper.bytes).toBe(heldBy(all, () => true))
    expect(keeper.bytes).toBeLessThanOrEqual(ROOM_OF_ALL)
    for (const name of QUARANTINE_CLASSES) {
      const of = all.filter((request) => request.class === name)
      expect(keeper.count(name)).toBe(of.length)
    }
    expect(heldBy(all, (each) => isProved(each.class))).toBeLessThanOrEqual(BUDGET)
    expect(heldBy(all, (each) => !isProved(each.class))).toBeLessThanOrEqual(BUDGET)
    expect(keeper.count('unchecked')).toBe(all.filter(({ unchecked }) => unchecked).length)
    const sequences = all.map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
  }

  /** Small ones that left while a worse one stayed. */
  function wronged(after: readonly KeptRequest[], gone: readonly KeptRequest[]): readonly KeptRequest[] {
    const isSmall = ({ callback }: KeptRequest): boolean => callback.captured.bytes.length <= SMALL_BYTES
    const worse = after.filter((each) => !isProved(each.class) && (each.class === 'rest' || !isSmall(each)))
    return gone.filter((each) => !isProved(each.class) && each.class !== 'rest' && isSmall(each) && worse.length > 0)
  }

  test('keeps the counts right, and displaces only what it may', () => {
    let displaced = 0
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const keeper = memoryKeeper({ maxBytes: ROOM_OF_ALL, maxAgeMs: 5_000 })
        for (const [atMs, { does, times, text, ...given }] of steps.entries())
          for (let time = 0; time < (does === 'keep' ? times : 1); time += 1) {
            const before = keeper.all()
            const one = before[Number(text) % Math.max(1, before.length)]
            const sent = { ...given, text: `${text}-${time}`, bytes: Math.max(given.bytes, 6), atMs: atMs * 50 }
            const dropped = keeper.dropped
            if (does === 'keep') {
              const callback = arrived(sent)
              const known = before.find(({ callback: { captured } }) => captured.bytes.equals(callback.captured.bytes))
              const outcome = keeper.keep(callback, standingOf(sent))
              const after = new Set(keeper.all().map(({ id }) => id))
              const gone = before.filter(({ id }) => !after.has(id))
              const others = gone.filter((each) => each !== known)
              expect(wronged(keeper.all(), others)).toEqual([])
              displaced += gone.length
              expect(keeper.dropped - dropped).toBe(gone.length + (outcome === 'dropped' ? 1 : 0))
            } else if (does === 'expire') keeper.expire(sent.atMs)
            else if (does === 'clear' && Number(text) < 10) keeper.clear()
            else if (one !== undefined && does === 'remove') keeper.remove(one)
            else if (one !== undefined && does === 'reclass') keeper.reclass(one, standingOf(sent))
          }
        expectRightCounts(keeper)
      }),
      { numRuns: WHOLE ? 500 : 150 },
    )
    expect(displaced).toBeGreaterThan(100)
  })
})
