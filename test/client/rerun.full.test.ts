/** Running a list again under its reference sends to each recipient exactly once, with any batches, on each store. */
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { SOAKED_STORES } from '../end-to-end/soak/stores.ts'
import { emulating } from '../emulator/emulating.ts'
import { titleWith } from '../support/skipping.ts'
import { clientOf } from './answering.ts'

const numbers = Array.from({ length: 1_000 }, (_, nth) => String(254_711_000_000 + nth))
const list = { message: 'Sale!', reference: 'spring' }
const everything = { from: new Date(0), to: new Date(8e15) }

/** Sends five batches of a hundred, and is stopped. */
async function interrupted(receiver: Receiver) {
  const { endpoint, emulator } = await emulating()
  const { sendAll } = clientOf(endpoint, { receiver })
  const stopping = new AbortController()
  let left = 5
  const first = clientOf(endpoint, {
    receiver,
    async fetch(url, init) {
      if ((left -= 1) === 0) stopping.abort()
      return fetch(url, init)
    },
  })
  const { totals } = await first.sendAll({ ...list, to: numbers }, { concurrency: 1, signal: stopping.signal })
  expect(totals).toMatchObject({ accepted: 500, unsent: 500 })
  const sentTo = () => emulator.sends().flatMap(({ recipients }) => recipients.map(({ to }) => to))
  return { sendAll, sentTo }
}

/** In another order and notation, with one number less and one more. */
const changed = ['254722000000', ...numbers.toSpliced(250, 1)].toReversed().map((number) => `+${number}`)

for (const { name, missing, open } of SOAKED_STORES) {
  const reason = process.env['CI'] === 'true' ? undefined : missing()
  test.skipIf(reason !== undefined)(titleWith(reason, name), { timeout: 120_000 }, async ({ onTestFinished }) => {
    const store = await open(onTestFinished)
    const receiver = createReceiver({ credentials: { authKey: 'a', signingSecret: 's' }, logger: false, store })
    onTestFinished(() => receiver.close())
    const { sendAll, sentTo } = await interrupted(receiver)
    const again = await sendAll({ ...list, to: changed }, { batch: 70 })
    const known = numbers.slice(0, 500)
    const isKnown = (number: string): boolean => known.includes(number.replace('+', ''))
    expect(again.totals).toMatchObject({ total: 1_000, accepted: 501, repeated: 499 })
    for (const { to, outcome } of again.outcomes) expect(outcome, to).toBe(isKnown(to) ? 'repeated' : 'accepted')
    const made = sentTo().map((number) => number.replace('+', ''))
    expect(made.toSorted()).toEqual([...numbers, '254722000000'])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1_001, waiting: 1_001, unknown: 0 })
  })
}
