/** A store that fails while handlers run: one report for each outage, until the store has answered again. */
import type { OpenStore } from 'messaging-webhooks/store'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'
import { brokenStore } from '../support/stores.ts'
import { gate } from '../support/gate.ts'

const MESSAGES = 8

function down(): never {
  throw new Error('The store is unavailable.')
}

test('reports an outage once, whatever the number of claims and settlements, and the next outage again', async () => {
  const clock = fakeClock()
  const broken: Partial<Pick<OpenStore, 'claim' | 'settle'>> = {}
  const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken) })
  for (const expected of [1, 2]) {
    const { open: goOn, opened: held } = gate()
    const off = receiver.onAny(() => held)
    for (let index = 0; index < MESSAGES; index += 1) await post(url, callback.smsDelivery())
    await clock.advance(0)
    Object.assign(broken, { claim: down, settle: down })
    goOn()
    await clock.advance(5_000)
    expect(errors.map(({ code }) => code)).toEqual(Array.from({ length: expected }, () => 'store_failed'))
    delete broken.claim
    delete broken.settle
    await clock.advance(5_000)
    expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
    off()
  }
})

test('a settlement sent before the store failed does not end the outage', async () => {
  const clock = fakeClock()
  let answer = (): void => {}
  const broken: Partial<Pick<OpenStore, 'claim' | 'settle'>> = {
    settle: () => new Promise((resolve) => (answer = () => resolve([true]))),
  }
  const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken) })
  const codes = () => errors.map(({ code }) => code)
  let handled = 0
  receiver.onAny(() => void (handled += 1))
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(handled).toBe(1)
  broken.claim = down
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(codes()).toEqual(['store_failed'])
  answer()
  // The claims of this time fail too, and belong to the same outage.
  await clock.advance(4_000)
  expect(codes()).toEqual(['store_failed'])
})
