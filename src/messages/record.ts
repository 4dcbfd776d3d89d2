/**
 * Everything stored about one message, as plain data. A decision takes a record and returns the next one. The marks are the
 * values that stores index for each record.
 */
import type { NewEvent, Repetitions } from './event-record.ts'
import type { Expectation } from './expected.ts'
import type { MessageLatest } from './order.ts'

/** Unsettled events of one message that run in order. Limits the size of a record. A further event becomes a dead letter. */
export const MAX_WAITING = 1_000
/** Identities of settled events that a record keeps: the newest. */
export const MAX_SETTLED = 256

/** An unsettled event. */
export interface Entry {
  readonly id: string
  /** Sort key among the reports of its message, compared as text. Empty for an event that belongs to no message. */
  readonly order: string
  /** The chat-app step that it waits for until `dueMs`. 0 for none. */
  readonly awaits: number
  readonly dueMs: number
  readonly attempts: number
  /** Fencing token of the last attempt. 0 before the first. */
  readonly token: number
  readonly late: boolean
  readonly replay: boolean
  readonly admittedAtMs: number
}

export interface DeadEntry extends Entry {
  readonly diedAtMs: number
}

/** What remains of a settled event: enough to recognise a duplicate and to tell its outcome. */
export interface SettledEntry {
  readonly id: string
  readonly endedAtMs: number
  readonly attempts: number
  readonly late: boolean
}

/** While a lease is active, no other event of the message is dispatched. */
export interface Lease {
  readonly token: number
  readonly untilMs: number
  /** The worker that holds it. Empty for a store with a single process. */
  readonly worker: string
}

/** The send of a message, as the app recorded it. */
export interface SendEntry {
  readonly expectation: Expectation
  readonly sentAtMs: number
  /** When the message becomes overdue. Undefined once that is decided, or if no report is expected. */
  readonly overdueAtMs: number | undefined
  readonly wasOverdue: boolean
}

/** Everything stored about one message, except the payloads of its events. */
export interface MessageRecord {
  readonly lease: Lease | undefined
  /** The last fencing token issued. */
  readonly tokens: number
  /** The greatest order dispatched. Empty before the first. */
  readonly dispatchedUpTo: string
  /** The chat-app steps seen, as bits. */
  readonly steps: number
  readonly latest: MessageLatest | undefined
  /** Sorted by order. Only the first can be dispatched. */
  readonly waiting: readonly Entry[]
  readonly dead: readonly DeadEntry[]
  readonly settled: readonly SettledEntry[]
  readonly send: SendEntry | undefined
}

const NONE: readonly never[] = []

export const EMPTY_RECORD: MessageRecord = {
  lease: undefined,
  tokens: 0,
  dispatchedUpTo: '',
  steps: 0,
  latest: undefined,
  waiting: NONE,
  dead: NONE,
  settled: NONE,
  send: undefined,
}

/** The effect of a decision on the stored payload (record and body) of an event. */
export type PayloadChange =
  /** The payload of an admitted event is stored. */
  | { readonly id: string; readonly becomes: 'stored'; readonly event: NewEvent }
  /** Retention of a settled event begins. */
  | { readonly id: string; readonly becomes: 'settled' }
  /** Retention of a dead letter begins. */
  | { readonly id: string; readonly becomes: 'dead'; readonly error: string }
  | { readonly id: string; readonly becomes: 'pending' }
  | { readonly id: string; readonly becomes: 'removed' }

/** The result of a decision. Without a `record` nothing changes; null removes the record with all its payloads. */
export interface Decision<A> {
  readonly answer: A
  readonly record?: MessageRecord | null | undefined
  readonly payloads?: readonly PayloadChange[]
}

/** Whether the record contains this event, or one that it repeats. */
export function hasEvent(
  { waiting, dead, settled }: MessageRecord,
  { id, repeats }: { readonly id: string; readonly repeats?: Repetitions | undefined },
): boolean {
  const isIt = (one: { readonly id: string }): boolean =>
    one.id === id || (repeats !== undefined && one.id >= repeats.from && one.id <= repeats.to)
  return waiting.some(isIt) || settled.some(isIt) || dead.some(isIt)
}

export const DAY_MS = 86_400_000

/**
 * When the message can be leased next: its first event is due, and its lease has expired. Rounded up, so that a message that a
 * store finds due can be leased.
 */
export function dueMark({ lease, waiting }: MessageRecord): number | undefined {
  const firstMs = waiting[0]?.dueMs
  return wholeMs(lease === undefined ? firstMs : Math.max(lease.untilMs, firstMs ?? -Infinity))
}

export function overdueMark({ send }: Pick<MessageRecord, 'send'>): number | undefined {
  return wholeMs(send?.overdueAtMs)
}

/** The day of the last change. Writes of one day leave the index unchanged. */
export function lastDay({ waiting, dead, settled, send }: MessageRecord): number {
  let lastMs = Math.max(settled.at(-1)?.endedAtMs ?? 0, send?.sentAtMs ?? 0)
  for (const { admittedAtMs } of waiting) lastMs = Math.max(lastMs, admittedAtMs)
  for (const { diedAtMs } of dead) lastMs = Math.max(lastMs, diedAtMs)
  return Math.max(-MAX_DAYS, Math.min(Math.floor(lastMs / DAY_MS), MAX_DAYS))
}

/** The last day of a `Date`. It fits in four bytes. */
const MAX_DAYS = 100_000_000

/** A whole number that every engine stores exactly. */
function wholeMs(ms: number | undefined): number | undefined {
  if (ms === undefined) return undefined
  return Math.ceil(Math.max(-Number.MAX_SAFE_INTEGER, Math.min(ms, Number.MAX_SAFE_INTEGER)))
}
