/**
 * Admission: duplicates, lateness, the wait for a missing step, and the latest state of the message. Contract,
 * service.md#delivery-rules: callbacks come twice and out of order.
 */
import { mergeLatest } from '../inbox/latest.ts'
import { isLate } from '../inbox/order.ts'
import type { EventRecord } from '../inbox/record.ts'
import {
  changed,
  EMPTY_RECORD,
  hasEvent,
  inserted,
  MOST_EVENTS,
  unchanged,
  type Decision,
  type Entry,
  type MessageRecord,
} from './record.ts'

/** What admission needs to know of an event. */
export interface AdmittedEvent {
  readonly id: string
  readonly order: string
  readonly final: boolean
  readonly step: number
  readonly awaits: number
  readonly gapUntilMs: number
  readonly record: EventRecord
}

/**
 * `overflow`: the record is full, so the event needs a record of its own; `late overflow` if a later one was dispatched.
 */
export type Admitted = 'new' | 'late' | 'duplicate' | 'overflow' | 'late overflow'

export function admit(
  record: MessageRecord | undefined,
  event: AdmittedEvent,
  nowMs: number,
  mostEvents = MOST_EVENTS,
): Decision<Admitted> {
  const { id, order, final, step, awaits, gapUntilMs } = event
  const known = record ?? EMPTY_RECORD
  if (record !== undefined && hasEvent(record, id)) return unchanged('duplicate')
  const late = isLate(event, { handed: known.dispatchedUpTo, handedOpen: known.openDispatchedUpTo })
  const latest = order === '' ? known.latest : mergeLatest(known.latest, event)
  if (known.waiting.length + known.dead.length + known.settled.length >= mostEvents) {
    const answer = late ? 'late overflow' : 'overflow'
    return latest === known.latest ? unchanged(answer) : changed(answer, { ...known, latest })
  }
  const isWaiting = !late && awaits !== 0 && (known.steps & awaits) === 0
  const entry: Entry = {
    id,
    order,
    final,
    awaits,
    dueMs: isWaiting ? gapUntilMs : nowMs,
    attempts: 0,
    token: 0,
    late,
    replay: false,
    admittedAtMs: nowMs,
  }
  const waiting = inserted(step === 0 ? known.waiting : withoutWaitFor(known.waiting, step, nowMs), entry)
  return changed(late ? 'late' : 'new', { ...known, steps: known.steps | step, latest, waiting })
}

/** Admits an event that found no room in the record `of` its message, into one of its own. It has no order there. */
export function admitOverflow(
  record: MessageRecord | undefined,
  { of, late }: { readonly of: string; readonly late: boolean },
  event: AdmittedEvent,
  nowMs: number,
): Decision<Admitted> {
  const decided = admit(record, { ...event, order: '', step: 0, awaits: 0 }, nowMs)
  if (decided.record === undefined) return decided
  const waiting = decided.record.waiting.map((entry) => (entry.id === event.id ? { ...entry, late } : entry))
  return changed(late ? 'late' : 'new', { ...decided.record, of, waiting })
}

/** Events that wait for this step are due; one that was tried keeps its retry time. */
export function withoutWaitFor(waiting: readonly Entry[], step: number, nowMs: number): readonly Entry[] {
  const isOver = ({ awaits, attempts, dueMs }: Entry): boolean => awaits === step && attempts === 0 && dueMs > nowMs
  return waiting.some(isOver) ? waiting.map((entry) => (isOver(entry) ? { ...entry, dueMs: nowMs } : entry)) : waiting
}
