/** The identity of an event that was erased before it reached the store. It is enough to recognise a duplicate. */
import type { EventRecord } from '../messages/event-record.ts'
import { NO_PLACE } from '../messages/order.ts'
import type { NewEvent } from './store.ts'

/** No report completes this step, so the event waits until the store has erased it. */
const NEVER = 64
/** 1970, which reveals nothing about the arrival. */
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

export function forgottenEvent({ id, messageKey }: Pick<NewEvent, 'id' | 'messageKey'>): NewEvent {
  const raw = Buffer.alloc(0)
  return {
    id,
    messageKey,
    ...NO_PLACE,
    awaits: NEVER,
    gapUntilMs: Number.MAX_SAFE_INTEGER,
    record: NO_RECORD,
    raw,
  }
}

export function isForgotten({ awaits }: NewEvent): boolean {
  return awaits === NEVER
}
