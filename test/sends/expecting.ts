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
    await expect.poll(() => clock.advance(1).then(isDone), { timeout: 10_000, interval: 5 }).toBe(true)
  }
  return { ...found, clock, events, pass }
}
