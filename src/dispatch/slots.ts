/**
 * Tracks the events in flight in this process and its remaining capacity: slots for handlers, and events leased ahead.
 *
 * At most one event of a message is in flight. At most `concurrency` events have a slot; the others wait in a queue. Events in
 * flight, plus those that pending requests may return, never exceed the reserved capacity.
 */
import { churningMap, removeMember } from '../runtime/values.ts'
import type { Clock } from '../runtime/clock.ts'
import type { MessageStore } from '../inbox/store.ts'
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

/** Weight of a faster attempt in the moving average. A slower attempt replaces the average. */
const SHARE = 1 / 8
/** A lease outlasts the longest attempt by this margin, for waiting in the queue and for settling. */
const MARGIN_MS = 10_000
/** The longest time that an event leased ahead should wait for its slot. */
const AHEAD_MS = 50
/**
 * Maximum number of events leased ahead per slot. If handlers suddenly hang, these wait for them, and no other process can run
 * them.
 */
const MAX_AHEAD = 7
/**
 * Maximum number of events in flight per slot, including those being settled, which bounds the backlog of a slow store. A
 * lower limit leaves more to claims, which take two statements an event: with 4, and 3 ahead, 128 connections cost Postgres 1.8
 * times the CPU and Redis 1.7 times.
 */
const MAX_PER_SLOT = 16

const NO_MESSAGES: ReadonlySet<string> = new Set()

export function createSlots({ clock, concurrency, waiting, handlers, begin }: SlotsOptions) {
  /** Events that run, hang or wait for a slot, by message. */
  const inFlight = churningMap<string, Work>()
  let queue: Work[] = []
  let used = 0
  let isStarting = false
  const held: ClaimRequest[] = []
  /** Recent duration of the handlers of an event. Infinity while unknown. */
  let attemptMs = Infinity

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
    /** Events in flight, except those with handlers that timed out. */
    running: 0,
    /** Whether pending requests to the store hold capacity for the events that they may return. */
    isAnyHeld: (): boolean => held.length > 0,
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
    /** Records how long the handlers of an event took: it predicts the wait for a slot. */
    learnPace(tookMs: number): void {
      // The clock may have been set back. A negative duration would leave no capacity.
      const ms = Math.max(tookMs, 0)
      attemptMs = ms >= attemptMs || attemptMs === Infinity ? ms : attemptMs + (ms - attemptMs) * SHARE
    },
    /**
     * Returns a request for as many events as there is capacity for: one per free slot, plus some leased ahead if handlers are
     * fast. Undefined without capacity. Excludes messages in flight: those of `among` if given, otherwise all.
     */
    reserveCapacity(
      { transactions }: MessageStore<object>,
      most: number,
      among?: readonly { readonly messageKey: string }[],
    ): ClaimRequest | undefined {
      // Each handler in a transaction needs a connection, so lease nothing ahead of those.
      const ahead = transactions === undefined ? Math.min(MAX_AHEAD, Math.floor(AHEAD_MS / attemptMs)) : 0
      const places = Math.min(concurrency, transactions?.most ?? Infinity)
      const free = places - used - queue.length + ahead * concurrency
      let limit = Math.min(free, MAX_PER_SLOT * concurrency - slots.running)
      for (const request of held) limit -= request.limit
      limit = Math.min(most, limit)
      if (limit <= 0) return undefined
      const exclude = inFlight.members.size === 0 ? NO_MESSAGES : messagesInFlight(among)
      return { limit, leaseForMs: handlers.longestMs + MARGIN_MS, exclude }
    },
    /** Holds the capacity of a pending request. */
    holdCapacity: (request: ClaimRequest): void => void held.push(request),
    /** Releases it when the store has responded or timed out. False if it was released before. */
    releaseCapacity(request: ClaimRequest): boolean {
      const place = held.indexOf(request)
      if (place !== -1) held.splice(place, 1)
      return place !== -1
    },
  }
  return slots
}
