/** A store that already knows many messages, all settled, before the first callback arrives. */
import type { Store } from 'messaging-webhooks'
import type { OpenStore } from 'messaging-webhooks/store'
import { AT_ONCE, newEvents } from './new-events.ts'
import type { Made } from './stores.ts'

const LEASE_MS = 60_000
/** Batches in flight: a server works on one while the next is made. */
const BATCHES = 4

export function prefilled({ store, tidy }: Pick<Made, 'store' | 'tidy'>, count: number): Store {
  return {
    ...store,
    async open(host) {
      const opened = await store.open(host)
      let left = count
      await Promise.all(
        Array.from({ length: BATCHES }, async () => {
          while (left > 0) {
            const size = Math.min(left, AT_ONCE)
            left -= size
            const nowMs = Date.now()
            await opened.admit(newEvents(size, nowMs), nowMs)
            await settleDue(opened)
          }
        }),
      )
      // Another batch's claim may have leased what this one admitted.
      while ((await settleDue(opened)) > 0);
      const { unsettled } = await opened.counts()
      if (unsettled > 0) throw new Error(`${unsettled} of ${count} events are not settled.`)
      await tidy?.()
      return opened
    },
  }
}

async function settleDue(opened: OpenStore): Promise<number> {
  const nowMs = Date.now()
  const { claims } = await opened.claim({ limit: AT_ONCE, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set() })
  const settled = await opened.settle(
    claims.map(({ id, messageKey, token }) => ({ id, messageKey, token, outcome: 'done' })),
    Date.now(),
  )
  return settled.length
}
