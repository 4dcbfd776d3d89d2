/** Rebuilds an unreadable record from the remaining payloads. Events may repeat; none is lost. */
import { mergeLatest, NO_PLACE, placeOf, type MessageLatest } from './order.ts'
import type { EventRecord } from './event-record.ts'
import { inserted } from './events.ts'
import { EMPTY_RECORD, type Entry, type MessageRecord } from './record.ts'

interface LeftEvent {
  readonly id: string
  readonly admittedAtMs: number
  /** Undefined if the payload is unreadable too. */
  readonly record: EventRecord | undefined
}

/** Greater than any token issued before. */
const RESTORED_TOKENS = 2 ** 40

/** Makes every event pending again. An event of an overflow record (`of`) has no order and does not change the latest state. */
export function restore(events: readonly LeftEvent[], of: string | undefined): MessageRecord {
  let waiting: readonly Entry[] = []
  let latest: MessageLatest | undefined
  for (const { id, admittedAtMs, record } of events) {
    const { order, final } =
      record?.report === undefined || of !== undefined ? NO_PLACE : placeOf(id, record.report, record)
    if (record !== undefined && order !== '') latest = mergeLatest(latest, { order, final, record })
    const attempt = { awaits: 0, dueMs: admittedAtMs, attempts: 0, token: 0, late: false, replay: false }
    waiting = inserted(waiting, { id, order, ...attempt, admittedAtMs })
  }
  return { ...EMPTY_RECORD, tokens: RESTORED_TOKENS, waiting, latest, of }
}
