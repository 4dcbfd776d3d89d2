/** One message as the memory store knows it: what waits, what was handed over, and what is known of it. */
import type { MessageLatest } from '../../inbox/latest.ts'
import type { NewEvent } from '../../inbox/store.ts'

/** An unsettled event. */
export interface Pending {
  readonly event: NewEvent
  late: boolean
  replay: boolean
  attempts: number
  dueMs: number
  /** Of the last claim; 0 before the first. Whoever holds an older one cannot settle. */
  token: number
}

export interface Message {
  readonly key: string
  /** Since when something of it waits. */
  activeSinceMs: number
  /** Of the maps of known messages the one that it is in; undefined before it is in any. */
  place: Map<string, Message | string> | undefined
  /** Unsettled events, sorted by order: only the first can be due. Replaced, not changed: see `NONE`. */
  pending: readonly Pending[]
  /** The identities of the settled ones. Replaced, too. */
  settledIds: readonly string[]
  /** The greatest order handed over; and the same of reports that are not final, which alone make a final one late. */
  handed: string
  handedOpen: string
  /** The chat-app steps seen, as bits. */
  steps: number
  latest: MessageLatest | undefined
  /** While it runs, nothing of this message is handed out. */
  lease: { readonly token: number; readonly untilMs: number } | undefined
  /** Grows with every change of when the message is due, which makes older entries of the heap void. */
  schedule: number
}

/** What most messages have for most of their time: a list that can grow has room for sixteen more, and there are many. */
const NONE: readonly never[] = []

export function newMessage(key: string): Message {
  return {
    key,
    activeSinceMs: 0,
    place: undefined,
    pending: NONE,
    settledIds: NONE,
    handed: '',
    handedOpen: '',
    steps: 0,
    latest: undefined,
    lease: undefined,
    schedule: 0,
  }
}

export function isKnown(message: Message, id: string): boolean {
  return message.settledIds.includes(id) || message.pending.some((pending) => pending.event.id === id)
}

/** Puts an event in its place; what waited for just this step need not wait longer. */
export function enqueue(message: Message, pending: Pending, nowMs: number): void {
  const { step } = pending.event
  message.steps |= step
  if (step !== 0) {
    for (const other of message.pending)
      if (other.event.awaits === step && other.attempts === 0) other.dueMs = Math.min(other.dueMs, nowMs)
  }
  const at = message.pending.findIndex((other) => other.event.order > pending.event.order)
  message.pending =
    message.pending.length === 0
      ? [pending]
      : message.pending.toSpliced(at === -1 ? message.pending.length : at, 0, pending)
}

/** Takes an event that is settled out; of it, only its identity is kept. */
export function settle(message: Message, pending: Pending): void {
  message.pending = message.pending.length === 1 ? NONE : message.pending.filter((other) => other !== pending)
  const { id } = pending.event
  message.settledIds = message.settledIds.length === 0 ? [id] : [...message.settledIds, id]
}

/** Forgets that an event was settled, for it is to run again. */
export function unsettle(message: Message, id: string): void {
  message.settledIds = message.settledIds.filter((settled) => settled !== id)
}

/** Marks an event as handed over: what is older and comes from now on is late. */
export function handOver(message: Message, { event }: Pending): void {
  if (event.order > message.handed) message.handed = event.order
  if (!event.final && event.order > message.handedOpen) message.handedOpen = event.order
}
