/**
 * Asks the store for what is due: when, how much, and what its answers tell of what else waits there. No two claims are under way at
 * once. Whatever wakes it is followed by a claim that began afterwards.
 */
import { asOurs } from '../public/errors.ts'
import { inStoreTime } from '../inbox/in-store-time.ts'
import type { Claim, ClaimRequest, ClaimResult } from '../inbox/store.ts'
import type { Slots } from './slots.ts'
import type { Waiting } from './waiting.ts'
import type { DispatchOptions, Observers, Opened, Phase } from './work.ts'

/** How long to leave a store alone that threw. */
const STORE_PAUSE_MS = 1_000
/** How long a claim that will likely find nothing is deferred, so that many attempts share it. */
const SHARE_MS = 5
/** So many full claims in a row are a backlog; a single one is a burst. */
const BACKLOG = 2

/** How claiming goes, for people who look on. */
export interface Progress {
  /** False before the store was open. */
  readonly hasBegun: boolean
  /** Nothing more is claimed. */
  readonly hasStopped: boolean
  /** Claims that were answered. */
  readonly turns: number
  /** A claim is wanted or under way, or its timer should have fired; where there is no room for another, none is wanted. */
  readonly isTurnDue: boolean
  /** How long the longest due event waits that is not in flight, as far as claims tell. 0 where nothing waits. */
  readonly oldestDueMs: number
}

export interface ClaimLoop {
  /** Undefined until the store is open: nothing is leased before. */
  readonly opened: Opened | undefined
  readonly isClaiming: boolean
  /** The last claims brought all that they asked for: what waits there goes before what comes. */
  readonly hasBacklog: boolean
  begin(opened: Opened): void
  /** Something may be due: it is claimed soon. */
  wake(): void
  /** There is capacity again: where the last claim brought all that it asked for, more may be due. */
  wakeIfFull(): void
  /** Something may be due then. */
  scheduleClaim(dueMs: number): void
  /** The last claim found nothing. A field, for every settlement looks at it. */
  readonly foundNothing: boolean
  /** An event that was admitted here may wait for a step of its message until then. */
  readonly gapUntilMs: number
  sawGap(untilMs: number): void
  /** Something may be due, but likely is not: claims in a while, so that many attempts share the claim. */
  deferClaim(): void
  readonly isClaimDeferred: boolean
  /** For whoever looks or counts now. */
  cancelDeferredClaim(): void
  progress(): Progress
  stop(): void
}

interface ClaimLoopOptions extends Pick<DispatchOptions, 'clock' | 'absence' | 'concurrency' | 'storeTimeoutMs'> {
  readonly slots: Slots
  readonly waiting: Waiting
  readonly observers: Observers
  readonly phase: Phase
}

export function createClaimLoop(options: ClaimLoopOptions): ClaimLoop {
  const { clock, absence, concurrency, storeTimeoutMs, slots, waiting, observers, phase } = options
  let isWoken = false
  /** When the timer fires. */
  let timerMs = Infinity
  let cancelTimer = (): void => {}
  /** When something that we were told of may be due: a claim that began before knows nothing of it. */
  let announcedDueMs = Infinity
  let cancelDeferred = (): void => {}
  /** So many claims in a row brought all that they asked for: more may be due. At first nothing is known. */
  let fullClaims = BACKLOG
  let turns = 0
  /** The longest due event that was not in flight has waited since then, as far as claims tell; Infinity where there is none. */
  let waitingSinceMs = Infinity

  function wake(): void {
    if (isWoken || phase.isStopped || loop.opened === undefined) return
    isWoken = true
    if (!loop.isClaiming) clock.soon(() => void claimWhileWoken())
  }

  /** Something will be due then, and nothing before but what was announced. */
  function setTimer(dueMs: number): void {
    cancelTimer()
    timerMs = Math.min(dueMs, announcedDueMs)
    cancelTimer = clock.setTimer(() => {
      if (timerMs >= announcedDueMs) announcedDueMs = Infinity
      timerMs = Infinity
      wake()
    }, timerMs - clock.now())
  }

  /** A claim that begins before does for it. A process that ends meanwhile would leave what comes next of a message undone. */
  function deferClaim(): void {
    if (isWoken || phase.isStopped || loop.isClaimDeferred) return
    loop.isClaimDeferred = true
    cancelDeferred = clock.setTimer(
      () => {
        loop.isClaimDeferred = false
        wake()
      },
      SHARE_MS,
      true,
    )
  }

  /** Claims again as long as somebody asks for it meanwhile. */
  async function claimWhileWoken(): Promise<void> {
    loop.isClaiming = true
    try {
      while (isWoken) {
        isWoken = false
        loop.cancelDeferredClaim()
        const nextDueMs = await claimDue()
        if (nextDueMs !== undefined) setTimer(nextDueMs)
      }
    } catch (error) {
      // Nobody knows what waits.
      filled(BACKLOG)
      absence.begin('dispatch', asOurs(error, 'store_failed'))
      isWoken = false
      setTimer(clock.now() + STORE_PAUSE_MS)
    } finally {
      loop.isClaiming = false
      waiting.changed()
    }
  }

  function filled(claims: number): void {
    fullClaims = claims
    loop.hasBacklog = fullClaims >= BACKLOG
    loop.foundNothing &&= fullClaims === 0
  }

  /** As much as there is capacity for, and runs what the store gives. Resolves to when something is due next, where it says so. */
  async function claimDue(): Promise<number | undefined> {
    const { opened } = loop
    if (phase.isStopped || opened === undefined) return undefined
    // As long as there is no backlog, capacity is left for what comes.
    const nowMs = clock.now()
    const request = slots.reserveCapacity(opened.store, loop.hasBacklog ? Infinity : concurrency, nowMs)
    if (request === undefined) {
      waitingSinceMs = Math.min(waitingSinceMs, nowMs)
      // Whoever releases capacity wakes us.
      filled(BACKLOG)
      return undefined
    }
    const { found } = absence
    const answer = (observers.meter?.measured(opened.store) ?? opened.store).claim(request)
    const { claims, nextDueMs } = answer instanceof Promise ? await claimInTime(opened, request, answer) : answer
    // Nobody waits for its handlers any more, and the store may be closed: the leases expire.
    if (phase.isOver) return undefined
    if (absence.foundBy.size > 0) absence.endAnswered('dispatch', found)
    filled(claims.length < request.limit ? 0 : fullClaims + 1)
    loop.foundNothing = claims.length === 0
    turns += 1
    waitingSinceMs = fullClaims > 0 ? waitingSince(claims, nowMs) : Infinity
    run(claims, opened, request.leaseUntilMs)
    return nextDueMs
  }

  /** What is left is due for less long than what was claimed last; of what was dispatched before, nobody knows since when. */
  function waitingSince(claims: readonly Claim[], nowMs: number): number {
    const last = claims.at(-1)
    if (last?.attempt !== 1 || last.replay) return Math.min(waitingSinceMs, nowMs)
    return Math.min(last.record.receivedAtMs, nowMs)
  }

  function run(claims: readonly Claim[], from: Opened, leaseUntilMs: number): void {
    for (const claim of claims) slots.enter(slots.track(claim, from, leaseUntilMs))
  }

  async function claimInTime(from: Opened, request: ClaimRequest, answer: Promise<ClaimResult>): Promise<ClaimResult> {
    slots.holdCapacity(request)
    // What comes too late is ours all the same: left alone, it would wait for its lease to expire.
    const { leaseUntilMs } = request
    const runLate = ({ claims }: ClaimResult): void => {
      if (!phase.isStopped && clock.now() < leaseUntilMs) run(claims, from, leaseUntilMs)
    }
    try {
      return await inStoreTime(clock, storeTimeoutMs, answer, () => {
        // That it rejects was reported as slow.
        answer.then(runLate, () => {})
      })
    } finally {
      slots.releaseCapacity(request)
    }
  }

  const loop = {
    opened: undefined as Opened | undefined,
    isClaiming: false,
    hasBacklog: true,
    begin(opened: Opened) {
      loop.opened = opened
      wake()
    },
    wake,
    wakeIfFull() {
      if (fullClaims > 0) wake()
    },
    scheduleClaim(dueMs: number) {
      announcedDueMs = Math.min(announcedDueMs, dueMs)
      if (dueMs < timerMs) setTimer(dueMs)
    },
    foundNothing: false,
    gapUntilMs: -Infinity,
    sawGap(untilMs: number) {
      loop.gapUntilMs = Math.max(loop.gapUntilMs, untilMs)
    },
    deferClaim,
    isClaimDeferred: false,
    cancelDeferredClaim() {
      if (loop.isClaimDeferred) cancelDeferred()
      loop.isClaimDeferred = false
    },
    progress() {
      const nowMs = clock.now()
      return {
        hasBegun: loop.opened !== undefined,
        hasStopped: phase.isStopped,
        turns,
        isTurnDue: isWoken || loop.isClaiming || timerMs < nowMs,
        oldestDueMs: Math.max(0, nowMs - waitingSinceMs),
      }
    },
    stop() {
      cancelTimer()
      loop.cancelDeferredClaim()
    },
  }
  return loop
}
