/** Faults of the answers to sends; test/client covers how the client treats each. */
import { SEND_FAULT_NAMES, SEND_FAULTS, type SendFaultRates } from 'messaging-webhooks/emulator'
import { expect, test } from 'vitest'
import { collecting, emulating, sendFrom } from './emulating.ts'

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
