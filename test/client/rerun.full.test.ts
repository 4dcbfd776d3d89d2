/** Running a list again under its reference sends to each recipient exactly once, with any batches, on each store. */
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { describe, expect, test } from 'vitest'
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

describe.each(SOAKED_STORES)('$name', ({ name, missing, open }) => {
  const reason = process.env['CI'] === 'true' ? undefined : missing()
  const changes: readonly (readonly [string, to: readonly string[], batch: number])[] = [
    ['in smaller batches', numbers, 50],
    ['with one number less', numbers.toSpliced(250, 1), 100],
    ['with one more in front', ['254722000000', ...numbers], 100],
    ['the other way round, each with a plus', numbers.toReversed().map((number) => `+${number}`), 70],
  ]
  // Every store answers which numbers were sent to in the same way, so one variation is enough on servers.
  for (const [what, to, batch] of name === 'memory' || name === 'sqlite' ? changes : changes.slice(-1))
    test.skipIf(reason !== undefined)(
      titleWith(reason, `run again ${what}`),
      { timeout: 120_000 },
      async ({ onTestFinished }) => {
        const receiver = createReceiver({
          credentials: { authKey: 'a', signingSecret: 's' },
          logger: false,
          store: await open(onTestFinished),
        })
        onTestFinished(() => receiver.close())
        const { sendAll, sentTo } = await interrupted(receiver)
        const again = await sendAll({ ...list, to }, { batch })
        const isKnown = (number: string): boolean => numbers.slice(0, 500).includes(number.replace('+', ''))
        expect(again.totals).toMatchObject({
          total: to.length,
          accepted: to.filter((number) => !isKnown(number)).length,
          repeated: to.filter(isKnown).length,
        })
        for (const { to: number, outcome } of again.outcomes)
          expect(outcome, number).toBe(isKnown(number) ? 'repeated' : 'accepted')
        const made = sentTo().map((number) => number.replace('+', ''))
        expect(new Set(made).size).toBe(made.length)
        expect(made.toSorted()).toEqual(
          [...new Set([...numbers.slice(0, 500), ...to.map((each) => each.replace('+', ''))])].toSorted(),
        )
        expect(await receiver.account(everything)).toMatchObject({
          sent: made.length,
          waiting: made.length,
          unknown: 0,
        })
      },
    )
})
