/** Converts records to the results that a store returns. */
import type { MessageRecord, SendEntry } from '../../messages/record.ts'
import type { KnownExpectation } from '../../messages/expected.ts'
import type { ScannedEvent } from '../record-store.ts'
import type { EventRecord } from '../../messages/event-record.ts'
import type { StoredDeadLetter, StoredEvent, StoredExpectation, StoredLatest } from '../store.ts'
import { identityIn, reportsIn } from '../../messages/order.ts'

export function expectedOf({ expectation, wasOverdue }: SendEntry): KnownExpectation {
  return { expectation, wasOverdue }
}

export function latestOf({ latest, send }: MessageRecord): StoredLatest | undefined {
  if (latest === undefined) return undefined
  const finals = latest.finals.map(({ record }) => record)
  return { record: latest.record, finals, ...(send && { expected: expectedOf(send) }) }
}

export function expectationOf(messageKey: string, record: MessageRecord): StoredExpectation | undefined {
  const { send, latest } = record
  if (send === undefined) return undefined
  const finals = latest?.finals.map((final) => final.record) ?? []
  return { messageKey, ...expectedOf(send), latest: latest && { record: latest.record, finals } }
}

const UNREADABLE = 'Neither the event nor the record of its message can be read.'

export function deadLetterOf({ id, record, payload }: ScannedEvent): StoredDeadLetter | undefined {
  const letter = record.dead.find((entry) => entry.id === id)
  if (letter === undefined || payload === undefined) return undefined
  const { attempts, diedAtMs } = letter
  // Without a payload there is no place for the error.
  const { error = UNREADABLE, raw } = payload
  const read = { id, attempts, error, diedAtMs, record: payload.record, raw }
  return record.send === undefined ? read : { ...read, expected: expectedOf(record.send) }
}

/** Undefined if the record no longer contains the event. */
export function eventOf({ id, atMs, record, payload }: ScannedEvent): StoredEvent | undefined {
  const { lease } = record
  const waiting = record.waiting.find((entry) => entry.id === id)
  // Only the bytes of an unreadable payload are left.
  const readable = payload?.corrupt === undefined ? payload?.record : undefined
  const known = { id, atMs, record: readable, raw: payload?.raw, error: undefined }
  if (waiting !== undefined) {
    const { late, attempts, admittedAtMs, order } = waiting
    const rest = { ...known, late, attempts, admittedAtMs, order, endedAtMs: undefined }
    return lease?.token === waiting.token
      ? { ...rest, state: 'leased', dueMs: lease.untilMs }
      : { ...rest, state: 'due', dueMs: waiting.dueMs }
  }
  const dead = record.dead.find((entry) => entry.id === id)
  if (dead !== undefined) {
    const { late, attempts, admittedAtMs, order, diedAtMs } = dead
    const rest = { ...known, late, attempts, admittedAtMs, order, error: payload?.error }
    return { ...rest, state: 'dead', dueMs: undefined, endedAtMs: diedAtMs }
  }
  const settled = record.settled.find((entry) => entry.id === id)
  if (settled === undefined) return undefined
  const report = reportsIn(record.latest).find(({ order }) => identityIn(order) === id)
  return {
    ...known,
    record: payload === undefined ? report?.record : readable,
    state: 'settled',
    late: settled.late,
    attempts: settled.attempts,
    admittedAtMs: undefined,
    dueMs: undefined,
    endedAtMs: settled.endedAtMs,
    order: report?.order,
  }
}

/** The reports of the latest state, with the ids of their events. */
export function reportsOf({ latest }: MessageRecord): readonly { readonly id: string; readonly record: EventRecord }[] {
  return reportsIn(latest).map(({ order, record }) => ({ id: identityIn(order), record }))
}
