/** A receiver whose store leases events as it admits them, with helpers for its tests. */
import type { Receiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { fakeClock } from './fake-clock.ts'
import { gate } from './gate.ts'
import { post, receiving } from './receiving.ts'
import { leasingStore, newLeasing } from './stores.ts'

/** A receiver that knows that no events wait in its store. */
export async function leasingReceiver(options: Parameters<typeof receiving>[0] = {}) {
  const leasing = newLeasing()
  const clock = fakeClock()
  const all = await receiving({ clock, store: leasingStore(leasing), ...options })
  await all.receiver.start()
  await clock.advance(0)
  const timestamp = Math.floor(clock.now() / 1_000)
  const report = (messageId: string, status = 'success') => callback.smsDelivery({ messageId, status, timestamp })
  return { ...all, clock, leasing, report, send: (messageId: string) => post(all.url, report(messageId)) }
}

/** Handles every report; holds the first one until it is released. */
export function holdFirst({ on }: Pick<Receiver, 'on'>) {
  const { open, opened } = gate()
  const handled: (string | undefined)[] = []
  on('message.*', async ({ status }) => {
    if (handled.push(status) === 1) await opened
  })
  return { handled, release: open }
}
