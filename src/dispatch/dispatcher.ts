/** Delivery: claims what is due, runs its handlers, settles it. At least once, one event of a message at a time. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import { waitFor } from '../inbox/in-store-time.ts'
import type { AdmitBatch } from '../inbox/inbox.ts'
import {
  isKept,
  PAYLOAD,
  type Admission,
  type AdmittedAndClaimed,
  type Awaitable,
  type Claim,
  type ClaimRequest,
  type NewEvent,
  type OpenStore,
} from '../inbox/store.ts'
import type { Progress } from './claim-loop.ts'
import { createParts, type Parts } from './parts.ts'
import { begin } from './run.ts'
import { stop } from './stop.ts'
import type { WatchedAttempt } from './waiting.ts'
import type { AttemptWatch, DispatchOptions, Meter } from './work.ts'

const NONE: readonly Claim[] = []

export interface Dispatcher {
  /** Begins to hand over what is in this store. */
  start(store: OpenStore<object>): void
  readonly admit: AdmitBatch
  /** Something may be due. */
  wake(): void
  /** What was leased of these messages may be somebody else's. */
  lose(isAmong: (messageKey: string) => boolean): void
  /** Begins no handler any more of the events that are meant. Those that run go on: what a handler has, it has. */
  forget(isMeant: (claim: Claim) => boolean): void
  /** A dead letter is due again, perhaps of a message that is in our hands. */
  wakeAfterReplay(): void
  /**
   * Watches for the next attempt of an event, from before its admission: whoever claims it may be done with it before the
   * admission has answered. With `answer: 'handled'` a callback is answered when it is over.
   */
  watchAttempt(id: string, timeoutMs: number): WatchedAttempt
  /**
   * True when nothing is unsettled any more (of what has not hung, unless `waitForHung`); false when the deadline passed
   * before. `unsettled` counts what is, in the store and on its way there.
   */
  drain(
    unsettled: () => Awaitable<number>,
    deadlineMs: number,
    options?: { readonly waitForHung?: boolean },
  ): Promise<boolean>
  /** Hands nothing more over; waits for what runs, then aborts it. */
  stop(deadlineMs: number): Promise<void>
  readonly running: number
  /** How claiming goes. */
  progress(): Progress
  /** From now on this one is told how long things take. */
  measure(meter: Meter): void
  /** Tells this one how each attempt goes from now on; undefined ends it. */
  lookOn(watch: AttemptWatch | undefined): void
}

export function createDispatcher(options: DispatchOptions): Dispatcher {
  const phase = { isStopped: false, isOver: false }
  const observers: { meter: Meter | undefined; watch: AttemptWatch | undefined } = {
    meter: undefined,
    watch: undefined,
  }
  const parts: Parts = createParts(options, { phase, observers, begin: (work) => begin(parts, work) })
  const { waiting, slots, loop, leases, settlements } = parts

  return {
    start: (store) => loop.begin(settlements.into(store)),
    admit: createAdmit(parts),
    wake: loop.wake,
    lose: leases.lose,
    forget(isMeant) {
      for (const work of slots.all()) {
        if (!isMeant(work.claim)) continue
        work.isForgotten = true
        parts.succeeded.delete(work.claim.id)
      }
      loop.wake()
    },
    wakeAfterReplay() {
      for (const work of slots.all()) work.hasSuccessor = true
      loop.wake()
    },
    watchAttempt(id, timeoutMs) {
      if (phase.isStopped && !slots.has(id)) return { over: Promise.resolve(), forget() {} }
      return waiting.watchAttempt(id, timeoutMs)
    },
    drain: createDrain(parts),
    stop: (deadlineMs) => stop(parts, phase, deadlineMs),
    get running() {
      return slots.running
    },
    progress: loop.progress,
    measure(meter) {
      observers.meter = meter
    },
    lookOn(watch) {
      observers.watch = watch
    },
  }
}

/**
 * Where there is room, what may run here at once is leased in the same step; the rest is left to claims. An answer that
 * comes too late is run all the same, as with a claim.
 */
function createAdmit(parts: Parts): AdmitBatch {
  const { clock, phase, observers, waiting, slots, loop } = parts
  return ({ store, events, nowMs, patience, mayLease }) => {
    // Drain the backlog before leasing new events.
    const isTurn = mayLease && loop.opened !== undefined && !phase.isStopped && !loop.hasBacklog
    const mayClaim = isTurn && store.admitAndClaim !== undefined
    const request = mayClaim ? slots.reserveCapacity(store, events.length, nowMs, events) : undefined
    const asked = observers.meter?.measured(store) ?? store
    if (asked.admitAndClaim === undefined || request === undefined) {
      const answer = asked.admit(events, nowMs)
      if (!(answer instanceof Promise)) return admitted(parts, store, events, answer)
      const kept = answer.then((admissions) => admitted(parts, store, events, admissions))
      return waitFor(patience, kept)
    }
    const failed = (error: unknown): never => {
      release(parts, request)
      throw error
    }
    let answer: Awaitable<AdmittedAndClaimed>
    try {
      answer = asked.admitAndClaim(events, request)
    } catch (error) {
      return failed(error)
    }
    const { leaseUntilMs } = request
    if (!(answer instanceof Promise))
      return admitted(parts, store, events, answer.admissions, answer.claims, leaseUntilMs)
    slots.holdCapacity(request)
    const taken = answer.then(({ admissions, claims }) => {
      const isInTime = slots.releaseCapacity(request)
      const isOurs = isInTime ? !phase.isOver : !phase.isStopped && clock.now() < leaseUntilMs
      admitted(parts, store, events, admissions, claims, isOurs ? leaseUntilMs : undefined)
      // A claim may have been turned away for the capacity that was held.
      loop.wakeIfFull()
      if (phase.isStopped) waiting.changed()
      return admissions
    }, failed)
    return waitFor(patience, taken, () => release(parts, request))
  }
}

/** The admission failed, or has not answered in time. */
function release({ slots, loop, waiting }: Parts, request: ClaimRequest): void {
  slots.releaseCapacity(request)
  // Its answer may be lost, and its leases held all the same.
  loop.scheduleClaim(request.leaseUntilMs)
  loop.wakeIfFull()
  waiting.changed()
}

/** What was claimed runs after the answers, where `leaseUntilMs` says that it is ours to run; the rest will be claimed. */
function admitted(
  parts: Parts,
  store: OpenStore<object>,
  events: readonly NewEvent[],
  admissions: readonly Admission[],
  claims: readonly Claim[] = NONE,
  leaseUntilMs?: number,
): readonly Admission[] {
  const { slots, loop } = parts
  const { opened } = loop
  const rest: NewEvent[] = []
  let next = 0
  for (const [index, event] of events.entries()) {
    const claim = claims[next]
    // Both are in one order.
    if (claim?.id === event.id) {
      next += 1
      if (opened !== undefined && leaseUntilMs !== undefined)
        slots.enterSoon(slots.track(claim, opened, leaseUntilMs, event[PAYLOAD]))
    } else if (isKept(admissions[index])) rest.push(event)
    // A store in memory keeps the events as they are, for as long as they wait.
    event[PAYLOAD] = undefined
  }
  for (const event of rest) leaveToClaim(parts, event)
  return admissions
}

/** It is claimed at once, or when what is in flight of its message is over. */
function leaveToClaim({ slots, loop }: Parts, { messageKey, awaits, gapUntilMs }: NewEvent): void {
  const before = slots.ofMessage(messageKey)
  if (before !== undefined) {
    before.hasSuccessor = true
    before.from.hold?.writeNow()
    return
  }
  if (awaits !== 0) loop.sawGap(gapUntilMs)
  loop.wake()
}

/** What another process settles is not announced: look again after this. */
const LOOK_MS = 50

function createDrain({ clock, slots, loop, waiting, settlements }: Parts): Dispatcher['drain'] {
  return async (unsettled, deadlineMs, { waitForHung = true } = {}) => {
    const untilMs = clock.now() + deadlineMs
    let endHurry: (() => void) | undefined
    try {
      for (;;) {
        // Counting a long backlog takes its time, so it is counted only where it may be none.
        const isIdle = slots.running === 0 && !loop.isClaiming
        // Where nothing is left, a claim would find nothing.
        const wasDeferred = isIdle && loop.isClaimDeferred
        if (wasDeferred) loop.cancelDeferredClaim()
        const left = isIdle ? await counted(unsettled, clock, untilMs) : Infinity
        if (wasDeferred && left > 0) loop.wake()
        if (slots.running === 0 && left === 0) return true
        // Apart from the hung ones, whose slots are free.
        if (!waitForHung && slots.running === 0 && left <= slots.all().length) return false
        const leftMs = untilMs - clock.now()
        if (leftMs <= 0) return false
        endHurry ??= settlements.hurry()
        await waiting.nextChange(Math.min(LOOK_MS, leftMs))
      }
    } finally {
      endHurry?.()
    }
  }
}

/** Infinity while the store is away: then nobody knows. */
function counted(unsettled: () => Awaitable<number>, clock: Clock, untilMs: number): Awaitable<number> {
  try {
    const count = unsettled()
    if (!(count instanceof Promise)) return count
    const timeoutMs = Math.max(untilMs - clock.now(), LOOK_MS)
    return withDeadline(clock, timeoutMs, count, () => Infinity).catch(() => Infinity)
  } catch {
    return Infinity
  }
}
