import type { MessagingWebhooksError } from 'messaging-webhooks'
import type { NewEvent } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import { createOutage } from '../../src/inbox/outage.ts'
import { sample } from '../../src/store-conformance/samples.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { quietAvailability } from '../support/inbox.ts'

/** A memory spool whose append can be made to fail. */
function memorySpool(held: NewEvent[] = []) {
  const spool = {
    fails: false,
    get size() {
      return held.length
    },
    async append(events: readonly NewEvent[]) {
      if (spool.fails) throw new Error('no room')
      held.push(...events)
    },
    async empty(take: (events: readonly NewEvent[]) => Promise<void>) {
      await take(held)
      held.length = 0
    },
  }
  return spool
}

function outageOver(held: NewEvent[]) {
  const clock = fakeClock()
  const spool = memorySpool(held)
  const state = { isUnavailable: true, looks: 0, over: 0 }
  const errors: MessagingWebhooksError[] = []
  const outage = createOutage({
    clock,
    spool,
    waitMs: 1_000,
    async takeFromSpool() {
      state.looks += 1
      if (state.isUnavailable) throw new Error('unavailable')
    },
    admit: () => Promise.resolve('new'),
    availability: quietAvailability((error) => void errors.push(error)),
    onOver: () => (state.over += 1),
  })
  return { clock, spool, state, errors, outage }
}

test('polls an unavailable store less and less often, and stops when asked', async () => {
  const { clock, state, outage } = outageOver([sample()])
  expect(outage.active).toBe(true)
  for (let second = 0; second < 60; second += 1) await clock.advance(1_000)
  expect(state.looks).toBeGreaterThan(5)
  expect(state.looks).toBeLessThan(20)
  outage.stop()
  const { looks } = state
  await clock.advance(60_000)
  expect(state.looks).toBe(looks)
})
