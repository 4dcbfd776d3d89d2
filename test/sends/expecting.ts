/** A receiver on a clock that stands still, and everything it dispatches. */
import type { WebhookEvent } from 'messaging-webhooks'
import { expect } from 'vitest'
import { fakeClock, isFakeClock } from '../support/fake-clock.ts'
import { receiving, type SomeOptions } from '../support/receiving.ts'

/** `pass` advances time until a condition holds, because a store may have a thread. */
export async function expecting(options: SomeOptions = {}) {
  const clock = isFakeClock(options.clock) ? options.clock : fakeClock()
  const found = await receiving({ ...options, clock })
  const events: WebhookEvent[] = []
  found.receiver.onAny((event) => void events.push(event))
  await found.receiver.start()
  async function pass(ms: number, isDone: () => boolean = () => true): Promise<void> {
    await clock.advance(ms)
    // On a busy machine a deadline may pass while the store is asked, and the next look is seconds later.
    let stepMs = 1
    await expect
      .poll(() => clock.advance((stepMs = Math.min(2 * stepMs, 1_000))).then(isDone), { timeout: 30_000, interval: 5 })
      .toBe(true)
  }
  return { ...found, clock, events, pass }
}
