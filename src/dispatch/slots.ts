/**
 * Tracks the events in flight in this process, and hands out slots for their handlers.
 *
 * At most one event of a message is in flight. At most `concurrency` events have a slot; the others wait in a queue. Events in
 * flight, plus those that pending requests may return, never exceed the reserved capacity.
 */
import { churningMap, removeMember } from '../runtime/values.ts'
import type { Clock } from '../runtime/clock.ts'
import type { MessageStore } from '../inbox/store.ts'
import { createCapacity } from './capacity.ts'
import type { Claim, ClaimRequest } from './claim.ts'
import type { HandlerRegistry } from './handlers.ts'
import type { Waiting } from './waiting.ts'
import type { Opened, Work } from './work.ts'

interface SlotsOptions {
  readonly clock: Clock
  readonly concurrency: number
  readonly waiting: Waiting
  readonly handlers: Pick<HandlerRegistry, 'longestMs'>
  /** Runs an event that has just got its slot. It may have ended before this returns. */
  readonly begin: (work: Work) => void
}

export type Slots = Readonly<ReturnType<typeof createSlots>>

/** A lease outlasts the longest attempt by this margin, for waiting in the queue and for settling. */
const MARGIN_MS = 10_000
const NO_MESSAGES: ReadonlySet<string> = new Set()

export function createSlots({ clock, concurrency, waiting, handlers, begin }: SlotsOptions) {
  /** Events that run, hang or wait for a slot, by message. */
  const inFlight = churningMap<string, Work>()
  let queue: Work[] = []
  let used = 0
  let isStarting = false
  const { left, ...capacity } = createCapacity(concurrency)

  function leave(work: Work): void {
    work.hasSlot = false
    used -= 1
    if (queue.length > 0) enterSoon()
  }

  /** Without `work`: hands out slots to the queue. */
  function enterSoon(work?: Work): void {
    if (work !== undefined) queue.push(work)
    if (isStarting) return
    isStarting = true
    clock.soon(startNext)
  }

  /** An event that ends at once frees its slot for the next iteration. */
  function startNext(): void {
    try {
      while (used < concurrency) {
        const next = queue.shift()
        if (next === undefined) break
        used += 1
        next.hasSlot = true
        begin(next)
      }
    } finally {
      isStarting = false
    }
  }

  function messagesInFlight(among: readonly { readonly messageKey: string }[] | undefined): ReadonlySet<string> {
    const { members } = inFlight
    if (among === undefined) return new Set(members.keys())
    const found = among.filter(({ messageKey }) => members.has(messageKey))
    return found.length === 0 ? NO_MESSAGES : new Set(found.map(({ messageKey }) => messageKey))
  }

  const slots = {
    ...capacity,
    /** Events in flight, except those with handlers that timed out. */
    running: 0,
    track(claim: Claim, from: Opened, leaseUntilMs: number, payload?: Work['payload']): Work {
      const work: Work = {
        claim,
        from,
        leaseUntilMs,
        controller: new AbortController(),
        payload,
        transaction: undefined,
        isStarted: false,
        begunAtMs: 0,
        hasSlot: false,
        isRunning: false,
        isHung: false,
        isOver: false,
        hasSuccessor: false,
        isLost: false,
        isForgotten: false,
      }
      slots.running += 1
      inFlight.members.set(claim.messageKey, work)
      return work
    },
    /** Releases the slot and the message of an event that needs nothing more here. */
    untrack(work: Work): void {
      if (work.hasSlot) leave(work)
      const { claim } = work
      if (!work.isOver) {
        work.isOver = true
        if (!work.isHung) slots.running -= 1
        if (inFlight.members.get(claim.messageKey) === work) removeMember(inFlight, claim.messageKey)
      }
      if (waiting.isAnyone) waiting.attempted(claim.id)
    },
    /** Stops waiting for the event. Its handlers may still run, and its message stays blocked. */
    abandon(work: Work): void {
      if (work.hasSlot) leave(work)
      if (!work.isHung) slots.running -= 1
      work.isHung = true
      waiting.attempted(work.claim.id)
    },
    /** The event of this message that is in flight. */
    ofMessage: (messageKey: string): Work | undefined => inFlight.members.get(messageKey),
    all: (): readonly Work[] => [...inFlight.members.values()],
    /** The token of the event of this message that is in flight. */
    tokenOf: (messageKey: string): number | undefined => inFlight.members.get(messageKey)?.claim.token,
    has: (id: string): boolean => slots.all().some(({ claim }) => claim.id === id),
    /** Gives the event a slot at once if one is free, otherwise queues it. */
    enter(work: Work): void {
      const isNext = queue.push(work) === 1
      if (isNext && used < concurrency) startNext()
      else enterSoon()
    },
    /** Like `enter`, but after pending I/O. */
    enterSoon,
    leave,
    dropQueue: (): void => void (queue = []),
    /**
     * Returns a request for as many events as there is capacity for. Undefined without capacity. Excludes messages in flight:
     * those of `among` if given, otherwise all.
     */
    reserveCapacity(
      store: MessageStore<object>,
      most: number,
      among?: readonly { readonly messageKey: string }[],
    ): ClaimRequest | undefined {
      const limit = Math.min(most, left(store, used + queue.length, slots.running))
      if (limit <= 0) return undefined
      const exclude = inFlight.members.size === 0 ? NO_MESSAGES : messagesInFlight(among)
      return { limit, leaseForMs: handlers.longestMs + MARGIN_MS, exclude }
    },
  }
  return slots
}
