/** A connection is cut after a lease was written and before its answer. What the SQL stores share. */
import type { Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving } from '../support/receiving.ts'
import { admit, eventOf, observer } from './postgres/events.ts'

interface Cuttable {
  /** Behind a proxy. */
  readonly store: Store<object>
  readonly direct: Store<object>
  /** Cut the connection once it has sent an admission, or the lease of an event of another process. */
  readonly cutAdmission: () => Promise<void>
  readonly cutLease: () => Promise<void>
}

/** Leases last longer than a minute, and heartbeats are sent every two seconds. */
const SOON_MS = 15_000
const NOTHING = { unsettled: 0, deadLetters: 0 }

export function testLostLeases(fresh: () => Promise<Cuttable>): void {
  test.each(['an admission', 'another process'])(
    'an event of %s whose lease was granted in an answer that was lost runs with the next heartbeat',
    { timeout: 60_000 },
    async (from) => {
      const { store, direct, cutAdmission, cutLease } = await fresh()
      const other = await observer(direct)
      const { receiver, url, errors } = await receiving({ store, spool: false })
      const attempts: number[] = []
      receiver.on('message.*', (_, { attempt }) => void attempts.push(attempt))
      await receiver.start()
      const isSettled = () => expect.poll(() => other.counts(), { timeout: SOON_MS }).toEqual(NOTHING)
      // Callbacks are leased as they are admitted once nothing else is due.
      expect((await post(url, callback.smsDelivery({ messageId: 'first' }))).status).toBe(204)
      await expect.poll(() => attempts, { timeout: SOON_MS }).toEqual([1])
      await isSettled()
      if (from === 'an admission') {
        const cut = cutAdmission()
        // The inbox admits it once more.
        expect((await post(url, callback.smsDelivery({ messageId: 'm' }))).status).toBe(204)
        await cut
      } else {
        const cut = cutLease()
        await admit(other, [eventOf('m')])
        await cut
      }
      // The first attempt was granted, and no process received it.
      await expect.poll(() => attempts, { timeout: SOON_MS }).toEqual([1, 2])
      await isSettled()
      expect(errors.map(({ code }) => code)).not.toContain('lease_lost')
    },
  )
}
