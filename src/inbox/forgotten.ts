/** The remainder of an event that was erased before it reached the store: enough to recognise a repetition. */
import type { EventRecord } from '../messages/event-record.ts'
import type { NewEvent } from './store.ts'

/** A step that no report completes, so that the wait does not end before the store has erased the event. */
const NEVER = 64
/** The earliest time of a record, which reveals nothing about the arrival. */
const NO_TIME = 0

const NO_RECORD: EventRecord = {
  project: undefined,
  kind: undefined,
  timestamp: NO_TIME,
  timestampSource: 'arrival',
  receivedAtMs: NO_TIME,
  proof: 'authKey',
  problem: 'damaged',
}

/** Has no order, so it does not affect its message. */
export function forgottenEvent({ id, messageKey }: Pick<NewEvent, 'id' | 'messageKey'>): NewEvent {
  const raw = Buffer.alloc(0)
  return {
    id,
    messageKey,
    order: '',
    final: false,
    step: 0,
    awaits: NEVER,
    gapUntilMs: Number.MAX_SAFE_INTEGER,
    record: NO_RECORD,
    raw,
  }
}

/** Whether the event was erased. */
export function isForgotten({ awaits }: NewEvent): boolean {
  return awaits === NEVER
}
