/**
 * Decides when to claim due events from the store, and how many. At most one claim is in progress. Every wake-up
 * leads to a claim that starts after it.
 */
import { asOurs } from '../public/errors.ts'
import { inStoreTime } from '../inbox/in-store-time.ts'
import { claimDue, type Claim, type Claimed, type ClaimRequest } from './claim.ts'
import { createClaimTimer } from './claim-timer.ts'
import type { Slots } from './slots.ts'
import type { Waiting } from './waiting.ts'
import type { DispatchOptions, Observers, Opened, Phase } from './work.ts'

/** Pause after a claim that failed. */
const STORE_PAUSE_MS = 1_000
/** Consecutive full claims that count as a backlog. A single one may be a burst. */
const BACKLOG = 2

/** The state of claiming, for health checks and the inspector. */
export interface Progress {
  /** False before the store is open. */
  readonly hasBegun: boolean
  readonly hasStopped: boolean
  /** Completed claims. */
  readonly turns: number
  /** A claim is requested or in progress, or its timer is overdue. Not requested while there is no capacity. */
  readonly isTurnDue: boolean
  /** How long the oldest due event that is not in flight has been waiting, as far as claims tell. 0 if none waits. */
  readonly oldestDueMs: number
}

export type ClaimLoop = Readonly<ReturnType<typeof createClaimLoop>>

interface ClaimLoopOptions extends Pick<
  DispatchOptions,
  'clock' | 'availability' | 'concurrency' | 'storeTimeoutMs' | 'report'
> {
  readonly slots: Slots
  readonly waiting: Waiting
  readonly observers: Observers
  readonly phase: Phase
}

export function createClaimLoop(options: ClaimLoopOptions) {
  const { clock, availability, concurrency, storeTimeoutMs, report, slots, waiting, observers, phase } = options
  const timer = createClaimTimer(clock, wake)
  let isWoken = false
  /** Consecutive full claims. Assumes a backlog at start. */
  let fullClaims = BACKLOG
  let turns = 0
  /** Since when the oldest due event that is not in flight has been waiting, as far as claims tell. Infinity if none waits. */
  let waitingSinceMs = Infinity

  function wake(): void {
    if (isWoken || phase.isStopped || loop.opened === undefined) return
    isWoken = true
    if (!loop.isClaiming) clock.soon(() => void claimWhileWoken())
  }

  /** Claims again as long as there are new wake-ups. */
  async function claimWhileWoken(): Promise<void> {
    loop.isClaiming = true
    try {
      while (isWoken) {
        isWoken = false
        // Counted from here, so that the time of the answer, in which the process may be suspended, delays no event.
        const askedMs = clock.now()
        const nextInMs = await claimNow()
        if (nextInMs !== undefined) timer.set(askedMs + nextInMs)
      }
    } catch (error) {
      // The claim failed, so assume a backlog.
      filled(BACKLOG)
      availability.begin('dispatch', asOurs(error, 'store_failed'))
      isWoken = false
      timer.set(clock.now() + STORE_PAUSE_MS)
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

  /**
   * Claims as many events as there is capacity for, and runs them. Resolves to how long until the next event is due, if the
   * store knows one.
   */
  async function claimNow(): Promise<number | undefined> {
    const { opened } = loop
    if (phase.isStopped || opened === undefined) return undefined
    // Without a backlog, leave capacity for new events.
    const nowMs = clock.now()
    const request = slots.reserveCapacity(opened.store, loop.hasBacklog ? Infinity : concurrency)
    if (request === undefined) {
      waitingSinceMs = Math.min(waitingSinceMs, nowMs)
      // The release of capacity wakes the loop.
      filled(BACKLOG)
      return undefined
    }
    const { found } = availability
    const leaseUntilMs = nowMs + request.leaseForMs
    let isInTime = true
    const onLeased = (claims: readonly Claim[]): void => {
      // Run a late answer too. Its events would otherwise wait until their leases expire.
      const isOurs = isInTime ? !phase.isOver : !phase.isStopped && clock.now() < leaseUntilMs
      if (!isOurs || claims.length === 0) return
      loop.foundNothing = false
      for (const one of claims) slots.enter(slots.track(one, opened, leaseUntilMs))
    }
    const claim = () => claimDue(opened.store, request, { onLeased, report })
    const answer = observers.meter === undefined ? claim() : observers.meter.timed('claim', claim)
    const onTimeout = (): void => void (isInTime = false)
    const { claims, nextInMs } = answer instanceof Promise ? await claimInTime(request, answer, onTimeout) : answer
    // The store may be closed by now. Let the leases expire.
    if (phase.isOver) return undefined
    if (availability.foundBy.size > 0) availability.endAnswered('dispatch', found)
    filled(claims.length < request.limit ? 0 : fullClaims + 1)
    loop.foundNothing = claims.length === 0
    turns += 1
    waitingSinceMs = fullClaims > 0 ? Math.min(nowMs, restDueMs(claims) ?? waitingSinceMs) : Infinity
    return nextInMs
  }

  async function claimInTime(request: ClaimRequest, answer: Promise<Claimed>, onTimeout: () => void): Promise<Claimed> {
    slots.holdCapacity(request)
    try {
      return await inStoreTime(clock, storeTimeoutMs, answer, onTimeout)
    } finally {
      slots.releaseCapacity(request)
    }
  }

  const loop = {
    /** Undefined until the store is open. Nothing is leased before. */
    opened: undefined as Opened | undefined,
    isClaiming: false,
    /** The last claims were full. Events in the store are claimed before new ones are leased at admission. */
    hasBacklog: true,
    begin(opened: Opened): void {
      loop.opened = opened
      wake()
    },
    /** Claims soon, because something may be due. */
    wake,
    /** Claims again after a release of capacity if the last claim was full. */
    wakeIfFull(): void {
      if (fullClaims > 0) wake()
    },
    /** Claims at this time, because something may be due then. */
    scheduleClaim: timer.announce,
    /** The last claim found nothing. A field, because every settlement reads it. */
    foundNothing: false,
    /** Until when an event admitted here may be in a reorder wait. */
    gapUntilMs: -Infinity,
    sawGap(untilMs: number): void {
      loop.gapUntilMs = Math.max(loop.gapUntilMs, untilMs)
    },
    progress(): Progress {
      const nowMs = clock.now()
      return {
        hasBegun: loop.opened !== undefined,
        hasStopped: phase.isStopped,
        turns,
        isTurnDue: isWoken || loop.isClaiming || timer.isOverdue(nowMs),
        oldestDueMs: Math.max(0, nowMs - waitingSinceMs),
      }
    },
    stop: timer.stop,
  }
  return loop
}

/** The rest became due after the last claimed event. If that event was dispatched before, its due time is unknown. */
function restDueMs(claims: readonly Claim[]): number | undefined {
  const last = claims.at(-1)
  return last?.attempt !== 1 || last.replay ? undefined : last.record.receivedAtMs
}
