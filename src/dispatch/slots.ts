/**
 * What this process has in flight, and how much more it may take: events under lease, slots for their handlers, and some that are
 * leased ahead.
 *
 * Of a message at most one event is in flight. At most `concurrency` of them have a slot; those that wait for one get it in their
 * turn. What is in flight, and what requests under way may bring, is never more than was reserved.
 */
import { churningMap, removeMember } from '../runtime/churning-map.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Claim, ClaimRequest, OpenStore } from '../inbox/store.ts'
import type { HandlerRegistry } from './handlers.ts'
import type { Waiting } from './waiting.ts'
import type { Opened, Work } from './work.ts'

interface SlotsOptions {
  readonly clock: Clock
  readonly concurrency: number
  readonly waiting: Waiting
  readonly handlers: Pick<HandlerRegistry, 'longestMs'>
  /** Runs what has just got its slot. It may be done with before this returns. */
  readonly begin: (work: Work) => void
}

export interface Slots {
  /** Events in flight, the hung ones apart. */
  readonly running: number
  /** Requests to the store under way hold capacity for what they may bring. */
  readonly isAnyHeld: boolean
  track(claim: Claim, from: Opened, leaseUntilMs: number, payload?: Work['payload']): Work
  /** Nothing is left to do here. */
  untrack(work: Work): void
  /** Nobody waits for it any more: its handlers may run on, and its message is not free. */
  abandon(work: Work): void
  /** What is in flight of this message. */
  ofMessage(messageKey: string): Work | undefined
  all(): readonly Work[]
  has(id: string): boolean
  /** A slot at once where one is free, else in its turn. */
  enter(work: Work): void
  /** The same, but not before the I/O under way. */
  enterSoon(work: Work): void
  leave(work: Work): void
  /** Nothing that still waits gets a slot. */
  empty(): void
  /** The handlers of an event took so long: so long others wait for its slot. */
  learnPace(tookMs: number): void
  /**
   * A request for at most so many events as there is capacity for: one for each free slot, and where handlers are quick, some that
   * wait for one. Undefined where there is none. `among`: whose messages it is about, for nothing of what is in flight is leased
   * again; else about all.
   */
  reserveCapacity(
    store: OpenStore<object>,
    most: number,
    nowMs: number,
    among?: readonly { readonly messageKey: string }[],
  ): ClaimRequest | undefined
  /** The request is under way. */
  holdCapacity(request: ClaimRequest): void
  /** The store has answered, or is too late. False where the capacity was released before. */
  releaseCapacity(request: ClaimRequest): boolean
}

/** A slower attempt counts at once, a quicker one by this share. */
const SHARE = 1 / 8
/** A lease outlasts the longest attempt by this much, so that there is time to wait for a slot and to settle. */
const MARGIN_MS = 10_000
/** What is leased ahead should wait for its slot no longer than this. */
const AHEAD_MS = 50
/** Leased ahead for each slot at most: should handlers hang of a sudden, these wait for them, and no other process has them. */
const MOST_AHEAD = 7
/**
 * Events in flight for each slot, those included that are being settled: meanwhile others run; where the store is slow, no more are
 * taken. Too few leave what comes to claims, which ask twice for each: with 4, and 3 ahead, 128 connections at once cost Postgres
 * 1.8 times the CPU, and Redis 1.7.
 */
const MOST_A_SLOT = 16

const NO_MESSAGES: ReadonlySet<string> = new Set()

export function createSlots({ clock, concurrency, waiting, handlers, begin }: SlotsOptions): Slots {
  /** Whether it runs, hangs or waits for a slot, by message. */
  const inFlight = churningMap<string, Work>()
  let queue: Work[] = []
  let used = 0
  let isHandingOut = false
  const held: ClaimRequest[] = []
  /** How long the handlers of an event take lately; Infinity as long as nothing is known. */
  let attemptMs = Infinity

  function leave(work: Work): void {
    work.hasSlot = false
    used -= 1
    if (queue.length > 0) enterSoon()
  }

  /** Without `work`, for what waits. */
  function enterSoon(work?: Work): void {
    if (work !== undefined) queue.push(work)
    if (isHandingOut) return
    isHandingOut = true
    clock.soon(handOut)
  }

  /** What leaves its slot at once leaves it to the next one here. */
  function handOut(): void {
    try {
      while (used < concurrency) {
        const next = queue.shift()
        if (next === undefined) break
        used += 1
        next.hasSlot = true
        begin(next)
      }
    } finally {
      isHandingOut = false
    }
  }

  function messagesInFlight(among: readonly { readonly messageKey: string }[] | undefined): ReadonlySet<string> {
    const { members } = inFlight
    if (among === undefined) return new Set(members.keys())
    const found = among.filter(({ messageKey }) => members.has(messageKey))
    return found.length === 0 ? NO_MESSAGES : new Set(found.map(({ messageKey }) => messageKey))
  }

  const slots = {
    running: 0,
    get isAnyHeld() {
      return held.length > 0
    },
    track(claim: Claim, from: Opened, leaseUntilMs: number, payload?: Work['payload']): Work {
      const work: Work = {
        claim,
        from,
        leaseUntilMs,
        controller: new AbortController(),
        payload,
        extras: undefined,
        isBegun: false,
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
    untrack(work: Work) {
      if (work.hasSlot) leave(work)
      const { claim } = work
      if (!work.isOver) {
        work.isOver = true
        if (!work.isHung) slots.running -= 1
        if (inFlight.members.get(claim.messageKey) === work) removeMember(inFlight, claim.messageKey)
      }
      if (waiting.isAnyone) waiting.attempted(claim.id)
    },
    abandon(work: Work) {
      if (work.hasSlot) leave(work)
      if (!work.isHung) slots.running -= 1
      work.isHung = true
      waiting.attempted(work.claim.id)
    },
    ofMessage: (messageKey: string) => inFlight.members.get(messageKey),
    all: () => [...inFlight.members.values()],
    has: (id: string) => slots.all().some(({ claim }) => claim.id === id),
    enter(work: Work) {
      const isNext = queue.push(work) === 1
      if (isNext && used < concurrency) handOut()
      else enterSoon()
    },
    enterSoon,
    leave,
    empty() {
      queue = []
    },
    learnPace(tookMs: number) {
      // A clock that is kept right may be set back meanwhile; less than no time would leave no capacity for ever.
      const ms = Math.max(tookMs, 0)
      attemptMs = ms >= attemptMs || attemptMs === Infinity ? ms : attemptMs + (ms - attemptMs) * SHARE
    },
    reserveCapacity(
      { contextFor }: OpenStore<object>,
      most: number,
      nowMs: number,
      among?: readonly { readonly messageKey: string }[],
    ) {
      // What the store gives to handlers may be in use from the claim on.
      const ahead = contextFor === undefined ? Math.min(MOST_AHEAD, Math.floor(AHEAD_MS / attemptMs)) : 0
      const free = concurrency - used - queue.length + ahead * concurrency
      let limit = Math.min(free, MOST_A_SLOT * concurrency - slots.running)
      for (const request of held) limit -= request.limit
      limit = Math.min(most, limit)
      if (limit <= 0) return undefined
      const exclude = inFlight.members.size === 0 ? NO_MESSAGES : messagesInFlight(among)
      return { limit, nowMs, leaseUntilMs: nowMs + handlers.longestMs + MARGIN_MS, exclude }
    },
    holdCapacity(request: ClaimRequest) {
      held.push(request)
    },
    releaseCapacity(request: ClaimRequest) {
      const place = held.indexOf(request)
      if (place !== -1) held.splice(place, 1)
      return place !== -1
    },
  }
  return slots
}
