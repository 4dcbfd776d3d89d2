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
  /** Unsettled events, sorted by order: only the first can be due. */
  readonly pending: Pending[]
  /** The identities of the settled ones. */
  readonly settledIds: string[]
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

export function newMessage(key: string): Message {
  return {
    key,
    pending: [],
    settledIds: [],
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
  if (at === -1) message.pending.push(pending)
  else message.pending.splice(at, 0, pending)
}

/** Marks an event as handed over: what is older and comes from now on is late. */
export function handOver(message: Message, { event }: Pending): void {
  if (event.order > message.handed) message.handed = event.order
  if (!event.final && event.order > message.handedOpen) message.handedOpen = event.order
}
