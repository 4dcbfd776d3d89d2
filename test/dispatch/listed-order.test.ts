/** The order in which a message's reports are listed when the store keeps no order of settled ones. */
import type { ReportShape } from '../../src/public/report-payloads.ts'
import type { ReportType } from '../../src/public/events.ts'
import { expect, test } from 'vitest'
import { inOrder } from '../../src/dispatch/listed-events.ts'
import type { StoredEvent } from '../../src/messages/views.ts'

const SETTLED = {
  state: 'settled',
  atMs: undefined,
  late: false,
  attempts: undefined,
  admittedAtMs: undefined,
  dueMs: undefined,
  endedAtMs: 0,
  error: undefined,
  order: undefined,
  raw: undefined,
} as const

/** The time comes from the signature alone. */
function report(shape: ReportShape, type: ReportType, timestamp: number): StoredEvent {
  const said = { type, shape, messageId: 'm-1', channel: 'any', status: 'any' }
  const kept = { project: undefined, kind: 'status', receivedAtMs: 0, proof: 'both' } as const
  const record = { ...kept, timestamp, timestampSource: 'signature', report: said } as const
  return { ...SETTLED, id: type, record }
}

test.each([
  ['sms', ['message.delivered', 'message.sent']],
  ['chat-app', ['message.sent', 'message.delivered']],
] as const)('%s reports without a time of their own', (shape, types) => {
  const listed = inOrder([report(shape, 'message.sent', 9), report(shape, 'message.delivered', 5)])
  expect(listed.map(({ id }) => id)).toEqual(types)
})
