/**
 * Events for a store, as the stages before the inbox make them. A server's process must not import the testing
 * kit, as the load does: the kit remembers the last thousand events that a receiver dispatched.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { NewEvent } from 'messaging-webhooks/store'

/** Batch size when a store is filled. */
export const AT_ONCE = 500

/** Each event belongs to its own message. */
export function newEvents(count: number, nowMs: number): readonly NewEvent[] {
  const timestamp = Math.floor(nowMs / 1_000)
  return Array.from({ length: count }, () => {
    const id = randomBytes(16).toString('hex')
    const messageId = randomUUID()
    const report = {
      project: 'My Shop',
      messageId,
      channel: 'sms',
      status: 'success',
      network: 'carrier-a',
      type: 'transactional',
      timestamp,
    }
    return {
      id,
      messageKey: randomBytes(16).toString('hex'),
      order: `00${timestamp}3${'0'.repeat(12)}${id}`,
      final: true,
      step: 0,
      awaits: 0,
      reorderWaitMs: 0,
      record: {
        project: 'My Shop',
        kind: 'status',
        timestamp,
        timestampSource: 'payload',
        receivedAtMs: nowMs,
        proof: 'both',
        report: {
          type: 'message.delivered',
          shape: 'sms',
          carrier: 'carrierA',
          messageId,
          channel: 'sms',
          network: 'carrier-a',
          status: 'success',
        },
      },
      raw: Buffer.from(JSON.stringify(report)),
    }
  })
}
