/** A store that already knows many messages, all settled, before the first callback arrives. */
import type { Store } from 'messaging-webhooks'
import { admit } from '../../src/store-conformance/samples.ts'
import { settleDue } from '../database/calls.ts'
import { AT_ONCE, newEvents } from './new-events.ts'
import type { Made } from './stores.ts'

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
            await admit(opened, newEvents(size, Date.now()))
            await settleDue(opened, AT_ONCE)
          }
        }),
      )
      // Another batch's claim may have leased what this one admitted.
      while ((await settleDue(opened, AT_ONCE)) > 0);
      const { unsettled } = await opened.counts()
      if (unsettled > 0) throw new Error(`${unsettled} of ${count} events are not settled.`)
      await tidy?.()
      return opened
    },
  }
}
