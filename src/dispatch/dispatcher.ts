/** Delivery: claims what is due, runs its handlers, settles it. At least once, one event of a message at a time. */
import { withDeadline, type Clock } from '../clock.ts'
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
import { loseLeases } from './attempt.ts'
import {
  allInHand,
  askRoom,
  enterSlotSoon,
  giveRoomBack,
  isInHand,
  nextChange,
  takeInHand,
  tellOfChange,
} from './capacity.ts'
import { progressOf, takeLook, wake, wakeBy, type Progress } from './claim-loop.ts'
import { begin } from './run.ts'
import { withSettlements } from './settle.ts'
import {
  BACKLOG,
  createState,
  type AttemptWatch,
  type DispatchOptions,
  type DispatchState,
  type Meter,
} from './state.ts'
import { stop } from './stop.ts'

const NONE: readonly Claim[] = []

interface WatchedAttempt {
  /** Resolves when the attempt is over or none will be made, or when its time is over. */
  readonly over: Promise<void>
  /** Nobody waits for it any more. */
  forget(): void
}

interface Dispatcher {
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
  const { clock } = options
  const state = createState(options, begin)

  return {
    start(store) {
      state.opened = withSettlements(state, store)
      wake(state)
    },
    admit: createAdmit(state),
    wake: () => wake(state),
    lose: (isAmong) => loseLeases(state, isAmong),
    forget(isMeant) {
      for (const work of allInHand(state)) {
        if (!isMeant(work.claim)) continue
        work.isForgotten = true
        state.succeeded.delete(work.claim.id)
      }
      wake(state)
    },
    wakeAfterReplay() {
      for (const work of allInHand(state)) work.isFollowed = true
      wake(state)
    },
    watchAttempt(id, timeoutMs) {
      if (state.stopped && !isInHand(state, id)) return { over: Promise.resolve(), forget() {} }
      // Repetitions of one callback, at once, each wait for themselves.
      const waiters = state.waitingForAttempt.get(id) ?? new Set()
      state.waitingForAttempt.set(id, waiters)
      let tell = (): void => {}
      const next = new Promise<void>((resolve) => {
        tell = resolve
        waiters.add(tell)
      })
      function forget(): void {
        waiters.delete(tell)
        if (waiters.size === 0 && state.waitingForAttempt.get(id) === waiters) state.waitingForAttempt.delete(id)
        tell()
      }
      // Another process may make it, and then nobody tells us.
      return { over: withDeadline(clock, timeoutMs, next, forget), forget }
    },
    drain: createDrain(state),
    stop: (deadlineMs) => stop(state, deadlineMs),
    get running() {
      return state.atWork
    },
    progress: () => progressOf(state),
    measure(meter) {
      state.meter = meter
    },
    lookOn(watch) {
      state.watch = watch
    },
  }
}

/**
 * Where there is room, what may run here at once is leased in the same step; the rest is left to claims. An answer that
 * comes too late is run all the same, as with a claim.
 */
function createAdmit(state: DispatchState): AdmitBatch {
  return ({ store, events, nowMs, patience, mayLease }) => {
    // What waits goes before what comes.
    const isTurn = mayLease && state.opened !== undefined && !state.stopped && state.fullClaims < BACKLOG
    const mayClaim = isTurn && store.admitAndClaim !== undefined
    const request = mayClaim ? askRoom(state, store, events.length, nowMs, events) : undefined
    const asked = state.meter?.measured(store) ?? store
    if (asked.admitAndClaim === undefined || request === undefined) {
      const answer = asked.admit(events, nowMs)
      if (!(answer instanceof Promise)) return admitted(state, store, events, answer)
      const kept = answer.then((admissions) => admitted(state, store, events, admissions))
      return waitFor(patience, kept)
    }
    const failed = (error: unknown): never => {
      release(state, request)
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
      return admitted(state, store, events, answer.admissions, answer.claims, leaseUntilMs)
    state.roomHeld.push(request)
    const taken = answer.then(({ admissions, claims }) => {
      const isInTime = giveRoomBack(state, request)
      const isOurs = isInTime ? !state.over : !state.stopped && state.clock.now() < leaseUntilMs
      admitted(state, store, events, admissions, claims, isOurs ? leaseUntilMs : undefined)
      // A claim may have been turned away for the room that was held.
      if (state.fullClaims > 0) wake(state)
      if (state.stopped) tellOfChange(state)
      return admissions
    }, failed)
    return waitFor(patience, taken, () => release(state, request))
  }
}

/** The admission failed, or has not answered in time. */
function release(state: DispatchState, request: ClaimRequest): void {
  giveRoomBack(state, request)
  // Its answer may be lost, and its leases held all the same.
  wakeBy(state, request.leaseUntilMs)
  if (state.fullClaims > 0) wake(state)
  tellOfChange(state)
}

/** What was claimed runs after the answers, where `leaseUntilMs` says that it is ours to run; the rest will be claimed. */
function admitted(
  state: DispatchState,
  store: OpenStore<object>,
  events: readonly NewEvent[],
  admissions: readonly Admission[],
  claims: readonly Claim[] = NONE,
  leaseUntilMs?: number,
): readonly Admission[] {
  const { opened } = state
  const rest: NewEvent[] = []
  let next = 0
  for (const [index, event] of events.entries()) {
    const claim = claims[next]
    // Both are in one order.
    if (claim?.id === event.id) {
      next += 1
      if (opened !== undefined && leaseUntilMs !== undefined)
        enterSlotSoon(state, takeInHand(state, claim, opened, leaseUntilMs, event[PAYLOAD]))
    } else if (isKept(admissions[index])) rest.push(event)
    // A store in memory keeps the events as they are, for as long as they wait.
    event[PAYLOAD] = undefined
  }
  for (const event of rest) leaveToClaim(state, event)
  return admissions
}

/** It is claimed at once, or when what is in our hands of its message is over. */
function leaveToClaim(state: DispatchState, { messageKey, awaits, gapUntilMs }: NewEvent): void {
  const before = state.inHand.members.get(messageKey)
  if (before !== undefined) {
    before.isFollowed = true
    before.from.hold?.writeNow()
    return
  }
  if (awaits !== 0) state.gapUntilMs = Math.max(state.gapUntilMs, gapUntilMs)
  wake(state)
}

/** What another process settles is not announced: look again after this. */
const LOOK_MS = 50

function createDrain(state: DispatchState): Dispatcher['drain'] {
  const { clock } = state
  return async (unsettled, deadlineMs, { waitForHung = true } = {}) => {
    const untilMs = clock.now() + deadlineMs
    state.hurried += 1
    for (const hold of state.holds) hold.writeNow()
    try {
      for (;;) {
        // Counting a long backlog takes its time, so it is counted only where it may be none.
        const isIdle = state.atWork === 0 && !state.isClaiming
        // Where nothing is left, a look would find nothing.
        const isToLook = isIdle && takeLook(state)
        const left = isIdle ? await counted(unsettled, clock, untilMs) : Infinity
        if (isToLook && left > 0) wake(state)
        if (state.atWork === 0 && left === 0) return true
        // Apart from the hung ones, whose slots are free.
        if (!waitForHung && state.atWork === 0 && left <= state.inHand.members.size) return false
        const leftMs = untilMs - clock.now()
        if (leftMs <= 0) return false
        await nextChange(state, Math.min(LOOK_MS, leftMs))
      }
    } finally {
      state.hurried -= 1
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
