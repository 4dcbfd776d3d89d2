/** Events as the receiver admits them, for programs that call a store directly. */
import { createHash } from 'node:crypto'
import type { NewEvent } from 'messaging-webhooks/store'

/** The format of the receiver's idempotency keys: 32 hexadecimal digits. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest().toString('hex', 0, 16)
}

/** An SMS report, the `at`th of its message, with a body of about 270 bytes. */
export function smsReport(message: string, at: number, receivedAtMs: number, final: boolean): NewEvent {
  const id = digest(`event ${message} ${at}`)
  return {
    id,
    messageKey: digest(`message ${message}`),
    order: `${String(at).padStart(12, '0')}3${'0'.repeat(12)}${id}`,
    final,
    step: 0,
    awaits: 0,
    reorderWaitMs: 0,
    record: {
      project: 'My Shop',
      kind: 'status',
      timestamp: Math.floor(receivedAtMs / 1_000),
      timestampSource: 'payload',
      receivedAtMs,
      proof: 'both',
      report: { type: 'message.delivered', shape: 'sms', messageId: message, channel: 'sms', status: 'delivered' },
    },
    raw: Buffer.from(JSON.stringify({ messageId: message, status: 'delivered', filler: 'x'.repeat(200) })),
  }
}
