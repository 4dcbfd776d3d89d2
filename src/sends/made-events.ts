/** Builds the synthetic events: a message is overdue, or the outcome of a send is unknown. */
import { encodeExpectation, type Expectation } from '../messages/expected.ts'
import { overdueIdentity, unknownSendIdentity } from '../messages/order.ts'
import type { NewEvent } from '../inbox/store.ts'

interface Expected {
  readonly messageKey: string
  readonly expectation: Expectation
}

export function overdueEvent(sent: Expected, nowMs: number): NewEvent {
  const { overdueAtMs = nowMs } = sent.expectation
  // The clock of a shared store may be some milliseconds ahead of this process.
  const foundMs = Math.max(nowMs, overdueAtMs)
  return made('overdue', sent, { id: overdueIdentity(sent.messageKey), atMs: overdueAtMs, nowMs: foundMs })
}

export function unknownSendEvent(sent: Expected, nowMs: number): NewEvent {
  const id = unknownSendIdentity(sent.messageKey, sent.expectation.sentAtMs)
  return made('unknownSend', sent, { id, atMs: nowMs, nowMs })
}

/** Without an order the event is never late and does not change the latest state. */
function made(
  what: 'overdue' | 'unknownSend',
  { messageKey, expectation }: Expected,
  { id, atMs, nowMs }: { readonly id: string; readonly atMs: number; readonly nowMs: number },
): NewEvent {
  return {
    id,
    messageKey,
    order: '',
    final: false,
    step: 0,
    awaits: 0,
    gapUntilMs: nowMs,
    record: {
      project: expectation.project,
      kind: 'status',
      timestamp: Math.floor(atMs / 1_000),
      timestampSource: 'clock',
      receivedAtMs: nowMs,
      proof: 'none',
      [what]: true,
    },
    raw: encodeExpectation(expectation),
  }
}
