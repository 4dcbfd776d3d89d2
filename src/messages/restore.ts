/** A record made anew of the payloads that are left, because the stored one cannot be read: rather a repetition than a loss. */
import { mergeLatest, type MessageLatest } from '../inbox/latest.ts'
import { placeOf } from '../inbox/order.ts'
import type { EventRecord } from '../inbox/record.ts'
import { EMPTY_RECORD, inserted, type Entry, type MessageRecord } from './record.ts'

interface LeftEvent {
  readonly id: string
  readonly admittedAtMs: number
  /** Undefined where that cannot be read either. */
  readonly record: EventRecord | undefined
}

/** Greater than any token given out before. */
export const RESTORED_TOKENS = 2 ** 40

/** All of them are pending again. */
export function restore(events: readonly LeftEvent[]): MessageRecord {
  let waiting: readonly Entry[] = []
  let latest: MessageLatest | undefined
  for (const { id, admittedAtMs, record } of events) {
    const { order, final } = record?.report === undefined ? NO_PLACE : placeOf(id, record.report, record)
    if (record !== undefined && order !== '') latest = mergeLatest(latest, { order, final, record })
    const attempt = { awaits: 0, dueMs: admittedAtMs, attempts: 0, token: 0, late: false, replay: false }
    waiting = inserted(waiting, { id, order, final, ...attempt, admittedAtMs })
  }
  return { ...EMPTY_RECORD, tokens: RESTORED_TOKENS, waiting, latest }
}

const NO_PLACE = { order: '', final: false }
