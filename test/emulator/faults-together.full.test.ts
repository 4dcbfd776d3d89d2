/** Combined faults: the table says what a receiver must do with each request. */
import type { ProofPolicy } from 'messaging-webhooks'
import { FAULT_NAMES, FAULTS, type Delivery, type FaultName } from 'messaging-webhooks/emulator'
import { callback } from 'messaging-webhooks/testing'
import { expect, test, vi } from 'vitest'
import { DEADLINE_MS, NOW_MS, playing } from './playing.ts'

vi.setConfig({ testTimeout: 2 * DEADLINE_MS })

const CALLBACKS = 300
const RATES = Object.fromEntries(FAULT_NAMES.map((name) => [name, 0.3]))

function acceptedBy(policy: ProofPolicy, { faults }: Delivery): boolean {
  return faults.every((fault) => {
    const name = FAULT_NAMES.find((other) => other === fault)
    const accepted = name === undefined ? 'no' : FAULTS[name].accepted
    if (accepted === 'by its authKey') return policy === 'either' || policy === 'authKey'
    if (accepted === 'by its signature') return policy === 'either' || policy === 'signature'
    return accepted === 'yes'
  })
}

test.each<ProofPolicy>(['either', 'authKey', 'signature', 'both'])('with proof %s', async (proof) => {
  const { emulator, dispatched, receiver, refusals, seen } = await playing({ faults: RATES, seed: proof }, { proof })
  const sent = await Promise.all(
    Array.from({ length: CALLBACKS }, (_, nth) =>
      emulator.callback('status', callback.smsDelivery({ messageId: `m-${nth}`, timestamp: NOW_MS / 1_000 - 9.5 })),
    ),
  )
  const deliveries = sent.flat()
  const wanted = deliveries.filter((delivery) => delivery.sent && acceptedBy(proof, delivery))
  const refused = deliveries.filter((delivery) => delivery.sent && !acceptedBy(proof, delivery))
  await expect.poll(() => refusals().length, { timeout: DEADLINE_MS }).toBe(refused.length)
  await expect.poll(async () => (await receiver.stats()).accepted, { timeout: DEADLINE_MS }).toBe(wanted.length)
  expect(await receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
  const ids = new Set(wanted.map(({ payload }) => payload['messageId']))
  expect(dispatched.map(({ payload }) => (payload as { readonly messageId: string }).messageId).sort()).toEqual(
    [...ids].sort(),
  )
  expect(seen).toHaveLength(wanted.length + refused.length)
  for (const delivery of deliveries) {
    const { faults, status, intact } = delivery
    expect(intact).toBe(delivery.sent && acceptedBy('either', delivery))
    const has = (name: FaultName): boolean => faults.includes(name)
    if (!has('drop') && !has('connectionReset'))
      expect(status, faults.join()).toBe(acceptedBy(proof, delivery) ? 204 : 401)
  }
})
