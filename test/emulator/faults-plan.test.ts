/** The plan of faults: of callbacks, and of answers to sends (test/client covers how the client treats each). */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SEND_FAULT_NAMES, SEND_FAULTS, type SendFaultRates } from 'messaging-webhooks/emulator'
import { FAULT_NAMES, faultRow, isToBeAccepted, planFaults, type FaultRates } from '../../src/emulator/faults.ts'
import { collecting, emulating, sendFrom } from './emulating.ts'

const anyRates: fc.Arbitrary<FaultRates> = fc.dictionary(
  fc.constantFrom(...FAULT_NAMES),
  fc.double({ min: 0, max: 1, noNaN: true }),
)
const anySeed = fc.oneof(fc.integer(), fc.string())

function planned(rates: FaultRates, seed: number | string, key: string) {
  return planFaults(rates, seed, { key, kind: 'payment', proof: 'both' }).map(({ faults, draw }) => ({
    faults: [...faults],
    own: draw('anything'),
  }))
}

const firstOf = (rates: FaultRates, seed: number | string, count: number) =>
  Array.from({ length: count }, (_, nth) => planned(rates, seed, `m-${nth} delivered`))

test('repeats in any order of callbacks, and every request has exactly one expected outcome', () => {
  fc.assert(
    fc.property(anyRates, anySeed, fc.array(fc.string()), (rates, seed, keys) => {
      const plans = (order: readonly string[]) => new Map(order.map((key) => [key, planned(rates, seed, key)]))
      expect(plans(keys)).toEqual(plans(keys.toReversed()))
      for (const requests of plans(keys).values()) {
        // A different body would be a different event, so all requests that arrive agree on it.
        const arriving = requests.filter(({ faults }) => faults.every((name) => faultRow(name).slot !== 'way'))
        expect(new Set(arriving.map(({ faults }) => faults.includes('noAuthKey'))).size).toBeLessThanOrEqual(1)
        for (const { faults } of requests) {
          const slots = faults.flatMap((name) => faultRow(name).slot ?? [])
          expect(new Set(slots).size).toBe(slots.length)
          if (faults.includes('drop')) expect(faults.filter((name) => name !== 'duplicate')).toEqual(['drop'])
          // A request has a fault of its proof or of its arrival, not both, so that a refusal has one reason.
          expect(faults.filter((name) => !isToBeAccepted(new Set([name]))).length).toBeLessThanOrEqual(1)
        }
      }
    }),
  )
})

test('enabling one fault does not move the others', () => {
  fc.assert(
    fc.property(fc.constantFrom(...FAULT_NAMES), anySeed, (other, seed) => {
      const alone = firstOf({ slowBody: 0.3 }, seed, 40)
      const beside = firstOf({ slowBody: 0.3, [other]: other === 'slowBody' ? 0.3 : 0.6 }, seed, 40)
      for (const [nth, [request]] of beside.entries())
        if (request?.faults.includes('drop') === false)
          expect(request.faults.includes('slowBody')).toBe(alone[nth]?.[0]?.faults.includes('slowBody'))
    }),
  )
})

test.each(FAULT_NAMES)('%s happens as often as its rate says', (name) => {
  expect(firstOf({ [name]: 0 }, 'seed', 50).every(([request]) => request?.faults.length === 0)).toBe(true)
  for (const requests of firstOf({ [name]: 1 }, 'seed', 50))
    expect(requests.map(({ faults }) => faults)).toEqual(name === 'duplicate' ? [[], [name]] : [[name]])
  const count = 4_000
  const happened = firstOf({ [name]: 0.1 }, 7, count).filter((requests) => requests.at(-1)?.faults.includes(name))
  // Five standard deviations; the seed is fixed, so this cannot fail by chance.
  expect(Math.abs(happened.length - 0.1 * count)).toBeLessThan(5 * Math.sqrt(count * 0.1 * 0.9))
})

test('each of several mutually exclusive faults happens', () => {
  const proofs = FAULT_NAMES.filter((name) => faultRow(name).slot === 'proof' && name !== 'noAuthKey')
  const rates = Object.fromEntries(proofs.map((name) => [name, 1]))
  const seen = new Set(firstOf(rates, 3, 500).flatMap(([request]) => request?.faults ?? []))
  expect([...seen].sort()).toEqual([...proofs].sort())
})

const TO = Array.from({ length: 60 }, (_, index) => `99910000${String(index).padStart(4, '0')}`)
const SOME: SendFaultRates = { lostRequest: 0.2, noAnswer: 0.3, badGateway: 0.3 }

/** The fault of each number, sent one after the other or all at once. */
async function run(seed: string, atOnce: boolean) {
  const { endpoint, emulator } = await emulating({}, { sendFaults: SOME, seed })
  const send = (to: string) => sendFrom(endpoint, { to }).catch(() => undefined)
  if (atOnce) await Promise.all(TO.map(send))
  else for (const to of TO) await send(to)
  const met = emulator.sends().map(({ recipients, fault }) => [recipients[0]?.to, fault] as const)
  return { met: new Map(met), faults: emulator.report().sends.faults }
}

test('the same seed applies the same faults to the same sends in any order', async () => {
  const first = await run('a', false)
  expect(Object.keys(first.faults).sort()).toEqual(Object.keys(SOME).sort())
  expect(first.met.size).toBe(TO.length - (first.faults.lostRequest ?? 0))
  expect(await run('a', true)).toEqual(first)
  expect((await run('b', true)).met).not.toEqual(first.met)
})

test('a refused send has no fault other than a lost request', async () => {
  const all = Object.fromEntries(SEND_FAULT_NAMES.map((name) => [name, name === 'lostRequest' ? 0 : 1]))
  const { endpoint, emulator } = await emulating({}, { sendFaults: all })
  expect(await sendFrom(endpoint, { to: '999400000012' })).toMatchObject({ status: 400 })
  expect(await sendFrom(endpoint, { to: TO[0], apiKey: 'another' })).toMatchObject({ status: 400 })
  expect(emulator.sends().map(({ fault }) => fault)).toEqual([undefined, undefined])
})

test.each(SEND_FAULT_NAMES)('%s makes the send or not, as the table says', async (fault) => {
  const { collected, callbackUrls } = await collecting()
  const { endpoint, emulator, idle } = await emulating({ callbackUrls }, { sendFaults: { [fault]: 1 } })
  await sendFrom(endpoint, { to: TO[0] }).catch(() => undefined)
  await idle()
  expect(collected).toHaveLength(SEND_FAULTS[fault].made === 'yes' ? 1 : 0)
  expect(emulator.report().sends).toMatchObject({ requests: collected.length, faults: { [fault]: 1 } })
})

test('a late answer arrives even without a callback URL', async () => {
  const { endpoint } = await emulating({}, { sendFaults: { lateAnswer: 1 } })
  expect(await sendFrom(endpoint, { to: '999400000011' })).toMatchObject({ status: 200 })
})
