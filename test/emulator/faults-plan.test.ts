/** The plan: the faults drawn for each callback, and their repetition. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  FAULT_NAMES,
  faultRow,
  isToBeAccepted,
  planFaults,
  type FaultName,
  type FaultRates,
} from '../../src/emulator/faults.ts'

const anyRates: fc.Arbitrary<FaultRates> = fc.dictionary(
  fc.constantFrom(...FAULT_NAMES),
  fc.double({ min: 0, max: 1, noNaN: true }),
)
const anySeed = fc.oneof(fc.integer(), fc.string())

function firstOf(rates: FaultRates, seed: number | string, count: number) {
  return Array.from({ length: count }, (_, nth) => {
    const { text, requests, draw } = planFaults(rates, seed, `m-${nth} delivered`, 'both')
    return {
      text: [...text],
      shared: draw('anything'),
      requests: requests.map((request) => ({ faults: [...request.faults], own: request.draw('anything') })),
    }
  })
}

test('repeats in any order of callbacks', () => {
  fc.assert(
    fc.property(anyRates, anySeed, fc.array(fc.string()), (rates, seed, keys) => {
      const shown = (order: readonly string[]) =>
        new Map(
          order.map((key) => [key, planFaults(rates, seed, key, 'both').requests.map(({ faults }) => [...faults])]),
        )
      expect(shown(keys)).toEqual(shown(keys.toReversed()))
    }),
  )
})

test('enabling one fault does not move the others', () => {
  fc.assert(
    fc.property(fc.constantFrom(...FAULT_NAMES), anySeed, (other, seed) => {
      const alone = firstOf({ slowBody: 0.3 }, seed, 40)
      const beside = firstOf({ slowBody: 0.3, [other]: other === 'slowBody' ? 0.3 : 0.6 }, seed, 40)
      for (const [nth, { requests }] of beside.entries())
        if (requests[0]?.faults.includes('drop') === false)
          expect(requests[0].faults.includes('slowBody')).toBe(alone[nth]?.requests[0]?.faults.includes('slowBody'))
    }),
  )
})

test('every request has exactly one expected outcome', () => {
  fc.assert(
    fc.property(anyRates, anySeed, (rates, seed) => {
      for (const { requests } of firstOf(rates, seed, 20))
        for (const { faults } of requests) {
          const slots = faults.flatMap((name) => faultRow(name).slot ?? [])
          expect(new Set(slots).size).toBe(slots.length)
          if (faults.includes('drop')) expect(faults.filter((name) => name !== 'duplicate')).toEqual(['drop'])
          // A request has a fault of its proof or of its arrival, not both, so that a refusal has one reason.
          expect(faults.filter((name) => !isToBeAccepted(new Set([name]), 'both')).length).toBeLessThanOrEqual(1)
        }
    }),
  )
})

test('no fault at a rate of 0, each at a rate of 1', () => {
  for (const name of FAULT_NAMES) {
    expect(firstOf({ [name]: 0 }, 'seed', 50).every(({ requests }) => requests[0]?.faults.length === 0)).toBe(true)
    for (const { requests } of firstOf({ [name]: 1 }, 'seed', 50)) {
      const faults = requests.map((request) => request.faults)
      expect(faults).toEqual(name === 'duplicate' ? [[], [name]] : [[name]])
    }
  }
})

test('a fault happens about as often as its rate says', () => {
  const count = 4_000
  for (const name of FAULT_NAMES) {
    const happened = firstOf({ [name]: 0.1 }, 7, count).filter(({ requests }) => requests.at(-1)?.faults.includes(name))
    // Five standard deviations; the seed is fixed, so this cannot fail by chance.
    expect(Math.abs(happened.length - 0.1 * count)).toBeLessThan(5 * Math.sqrt(count * 0.1 * 0.9))
  }
})

test('each of several mutually exclusive faults happens', () => {
  const proofs = FAULT_NAMES.filter((name) => faultRow(name).slot === 'proof')
  const rates = Object.fromEntries(proofs.map((name) => [name, 1]))
  const seen = new Set<FaultName>(firstOf(rates, 3, 500).flatMap(({ requests }) => requests[0]?.faults ?? []))
  expect([...seen].sort()).toEqual([...proofs].sort())
})
