/** A store that knows many messages before the first callback comes, all of them settled. */
import { randomBytes } from 'node:crypto'
import type { Store } from 'messaging-webhooks'
import type { NewEvent } from '../../src/inbox/store.ts'
import { makeReports } from '../load/requests.ts'

const AT_ONCE = 500
const LEASE_MS = 60_000

export function prefilled(store: Store, count: number): Store {
  return {
    ...store,
    async open(host) {
      const opened = await store.open(host)
      for (let left = count; left > 0; left -= AT_ONCE) {
        const nowMs = Date.now()
        await opened.admit(eventsOf(Math.min(left, AT_ONCE), nowMs), nowMs)
        const { claims } = await opened.claim({
          limit: AT_ONCE,
          nowMs,
          leaseUntilMs: nowMs + LEASE_MS,
          exclude: new Set(),
        })
        await opened.settle(
          claims.map(({ id, messageKey, token }) => ({ id, messageKey, token, outcome: 'done' })),
          nowMs,
        )
      }
      return opened
    },
  }
}

/** As the stages before the inbox would make them. */
function eventsOf(count: number, nowMs: number): readonly NewEvent[] {
  const timestamp = Math.floor(nowMs / 1_000)
  return makeReports({ count }).map((report) => {
    const id = randomBytes(16).toString('hex')
    return {
      id,
      messageKey: randomBytes(16).toString('hex'),
      order: `00${timestamp}3${'0'.repeat(12)}${id}`,
      final: true,
      step: 0,
      awaits: 0,
      gapUntilMs: nowMs,
      record: {
        project: 'My Shop',
        kind: 'status',
        timestamp,
        timestampSource: 'payload',
        receivedAtMs: nowMs,
        proof: 'both',
        report: {
          type: 'message.delivered',
          carrier: 'carrierA',
          messageId: String(report['messageId']),
          channel: 'sms',
          network: 'carrier-a',
          status: 'success',
        },
      },
      raw: Buffer.from(JSON.stringify(report)),
    }
  })
}
