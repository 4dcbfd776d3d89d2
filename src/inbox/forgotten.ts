/** What is left of an event that was forgotten on its way to the store: enough for a repetition to be known there. */
import type { EventRecord } from '../messages/event-record.ts'
import type { NewEvent } from './store.ts'

/** A step that no report is, so that nothing ends the wait for it: the store forgets the event before that is over. */
const NEVER = 64
/** The first time that a record can have, so that nothing tells when it came. */
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

/** It has no order, and so says nothing of its message. */
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

/** Whether that is all that is left of it. */
export function isForgotten({ awaits }: NewEvent): boolean {
  return awaits === NEVER
}
