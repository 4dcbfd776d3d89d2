/** Everything stored about one message. Plain data: a decision takes a record and returns the next one. */
import type { Expectation } from './expected.ts'
import type { MessageLatest } from './order.ts'

/** Limits the size of a record: an event beyond it gets a record of its own. */
export const MOST_EVENTS = 100

/** An event that is not settled. */
export interface Entry {
  readonly id: string
  /** Position among the reports of its message; compared as text. Empty for an event of no message. */
  readonly order: string
  /** The chat-app step that it waits for until `dueMs`; 0 for none. */
  readonly awaits: number
  readonly dueMs: number
  readonly attempts: number
  /** Fencing token of its last attempt; 0 before the first. */
  readonly token: number
  readonly late: boolean
  readonly replay: boolean
  readonly admittedAtMs: number
}

export interface DeadEntry extends Entry {
  readonly diedAtMs: number
}

/** What remains of a settled event: enough to recognise a duplicate, and to say what became of it. */
export interface SettledEntry {
  readonly id: string
  readonly endedAtMs: number
  readonly attempts: number
  readonly late: boolean
}

/** While it lasts, no other event of the message is dispatched. */
export interface Lease {
  readonly token: number
  readonly untilMs: number
  /** The process that holds it; empty where the store has a single process. */
  readonly worker: string
  /** Time and rank of the newest report dispatched before it: what is left if it is taken back. */
  readonly dispatchedBefore: string
}

/** What the app said of a message that it sent. */
export interface SendEntry {
  readonly expectation: Expectation
  readonly sentAtMs: number
  /** When the message becomes overdue; undefined once that was decided, or where nothing is awaited. */
  readonly overdueAtMs: number | undefined
  readonly wasOverdue: boolean
}

/** Everything stored about one message, but for the payloads of its events. */
export interface MessageRecord {
  readonly lease: Lease | undefined
  /** The last fencing token given out. */
  readonly tokens: number
  /** The greatest order dispatched; empty before the first. */
  readonly dispatchedUpTo: string
  /** The chat-app steps seen, as bits. */
  readonly steps: number
  readonly latest: MessageLatest | undefined
  /** Sorted by order: only the first can be dispatched. */
  readonly waiting: readonly Entry[]
  readonly dead: readonly DeadEntry[]
  readonly settled: readonly SettledEntry[]
  readonly send: SendEntry | undefined
  /** The key of the message, if this is the record of one event that found no room in that of its message. */
  readonly of: string | undefined
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
  of: undefined,
}

/** What a decision does to the stored payload (record and body) of an event. */
export type PayloadChange =
  /** The retention of settled events begins. */
  | { readonly id: string; readonly becomes: 'settled' }
  /** The retention of dead letters begins. */
  | { readonly id: string; readonly becomes: 'dead'; readonly error: string }
  | { readonly id: string; readonly becomes: 'pending' }
  | { readonly id: string; readonly becomes: 'removed' }

/** What a decision says. Without a `record` it changes nothing. */
export interface Decision<A> {
  readonly answer: A
  readonly record?: MessageRecord | undefined
  readonly payloads?: readonly PayloadChange[]
}

/** When something of the message can be leased: its lease expires, or its first event is due. */
export function dueMsOf({ lease, waiting }: MessageRecord): number | undefined {
  return lease === undefined ? waiting[0]?.dueMs : lease.untilMs
}

export function hasEvent({ waiting, dead, settled }: MessageRecord, id: string): boolean {
  const isIt = (one: { readonly id: string }): boolean => one.id === id
  return waiting.some(isIt) || settled.some(isIt) || dead.some(isIt)
}
