/** Asks the store for what is due: when, how much, and what its answers tell of what else waits there. */
import type { Clock } from '../clock.ts'
import { inStoreTime } from '../inbox/in-store-time.ts'
import type { Awaitable, ClaimRequest, ClaimResult } from '../inbox/store.ts'
import type { Leased, Capacity, Run } from './capacity.ts'
import type { Life, Opened, StoreAway } from './settle.ts'

/** How long to leave a store alone that threw. */
const STORE_PAUSE_MS = 1_000
/** How long a look that will likely find nothing is put off, so that many attempts share it. */
const SHARE_MS = 5

interface ClaimLoopOptions {
  readonly clock: Clock
  /** Says when something will be due next, where it is known. */
  readonly claim: () => Promise<number | undefined>
  readonly failed: (error: unknown) => void
  /** For now there is nothing more to claim. */
  readonly rested: () => void
}

export interface ClaimLoop {
  readonly claiming: boolean
  /** Something may be due. */
  wake(): void
  /** Something may be due, but likely is not. A claim that begins before does for it. */
  wakeLater(): void
  /** Nothing is put off any longer, until what it returns is called. */
  hurry(): () => void
  readonly isHurried: boolean
  /** Something may be due then. */
  wakeBy(dueMs: number): void
  stop(): void
}

/** Soon after a wake-up or when something comes due, and never twice at once. */
export function createClaimLoop({ clock, claim, failed, rested }: ClaimLoopOptions): ClaimLoop {
  let asked = false
  let claiming = false
  let stopped = false
  let timerMs = Infinity
  /** Of `wakeBy`: a claim that began before knows nothing of it. */
  let toldMs = Infinity
  let cancelTimer = (): void => {}
  let cancelLater: (() => void) | undefined
  let hurried = 0

  function wake(): void {
    if (asked || stopped) return
    asked = true
    if (!claiming) clock.soon(() => void claimWhileAsked())
  }

  /** Something will be due then, and nothing before but what was told. */
  function wakeAt(dueMs: number): void {
    cancelTimer()
    timerMs = Math.min(dueMs, toldMs)
    cancelTimer = clock.setTimer(() => {
      if (timerMs >= toldMs) toldMs = Infinity
      timerMs = Infinity
      wake()
    }, timerMs - clock.now())
  }

  function notLater(): void {
    cancelLater?.()
    cancelLater = undefined
  }

  /** Claims again as long as somebody asks for it meanwhile. */
  async function claimWhileAsked(): Promise<void> {
    claiming = true
    try {
      while (asked) {
        asked = false
        notLater()
        const nextDueMs = await claim()
        if (nextDueMs !== undefined) wakeAt(nextDueMs)
      }
    } catch (error) {
      failed(error)
      asked = false
      wakeAt(clock.now() + STORE_PAUSE_MS)
    } finally {
      claiming = false
      rested()
    }
  }

  return {
    get claiming() {
      return claiming
    },
    wake,
    wakeLater() {
      if (hurried > 0) {
        wake()
        return
      }
      if (asked || stopped || cancelLater !== undefined) return
      function wakeNow(): void {
        cancelLater = undefined
        wake()
      }
      // A process that ends meanwhile would leave what comes next of a message undone.
      cancelLater = clock.setTimer(wakeNow, SHARE_MS, true)
    },
    hurry() {
      hurried += 1
      if (cancelLater !== undefined) wake()
      return () => {
        hurried -= 1
      }
    },
    get isHurried() {
      return hurried > 0
    },
    wakeBy(dueMs) {
      toldMs = Math.min(toldMs, dueMs)
      if (dueMs < timerMs) wakeAt(dueMs)
    },
    stop() {
      stopped = true
      cancelTimer()
      notLater()
    },
  }
}

interface ClaimsOptions {
  readonly clock: Clock
  readonly concurrency: number
  readonly storeTimeoutMs: number
  readonly life: Readonly<Life>
  readonly leased: Leased
  readonly capacity: Capacity
  readonly backlog: Backlog
  readonly storeAway: StoreAway
  readonly run: Run
}

/** Makes one claim; resolves to when something will be due next, where the store says so. */
type ClaimDue = () => Promise<number | undefined>

/** As much as there is room for, and runs what the store gives. */
export function createClaims(options: ClaimsOptions): ClaimDue {
  const { clock, concurrency, storeTimeoutMs, life, leased, capacity, backlog, storeAway, run } = options

  function claim(request: ClaimRequest, from: Opened): Awaitable<ClaimResult> {
    const result = from.store.claim(request)
    if (!(result instanceof Promise)) return result
    capacity.hold(request)
    return inTime(result, request, from).finally(() => capacity.giveBack(request))
  }

  /** What comes too late is ours all the same: left alone, it would wait for its lease to run out. */
  function inTime(result: Promise<ClaimResult>, { leaseUntilMs }: ClaimRequest, from: Opened): Promise<ClaimResult> {
    return inStoreTime(clock, storeTimeoutMs, result, () => {
      result.then(
        ({ claims }) => {
          if (!life.stopped && clock.now() < leaseUntilMs) run('enter', claims, from, leaseUntilMs)
        },
        // It was reported as slow.
        () => {},
      )
    })
  }

  return async () => {
    const { opened, stopped } = life
    if (stopped || opened === undefined) return undefined
    // As long as there is no backlog, room is left for what comes.
    const request = capacity.ask(opened.store, backlog.goesFirst ? Infinity : concurrency, leased.messages())
    if (request === undefined) {
      // Whoever makes room wakes us.
      backlog.unknown()
      return undefined
    }
    const result = claim(request, opened)
    const { claims, nextDueMs } = result instanceof Promise ? await result : result
    storeAway.answered()
    backlog.claimed(claims.length, request.limit)
    run('enter', claims, opened, request.leaseUntilMs)
    return nextDueMs
  }
}

/** So many full claims in a row are a backlog; a single one is a burst. */
const BACKLOG = 2

export interface Backlog {
  /** Older events wait, or nobody knows: they go before what comes. */
  readonly goesFirst: boolean
  /** The last claim brought all that it asked for, so that more may be due. */
  readonly mayBe: boolean
  /** The last claim found nothing, and nothing that was admitted here waits for a step of its message. */
  readonly isNone: boolean
  /** A claim of at most `limit` events brought so many. */
  claimed(count: number, limit: number): void
  /** A claim failed, or could not be made: nobody knows what waits. */
  unknown(): void
  /** An event that was admitted here may wait for a step of its message until then. */
  gap(untilMs: number): void
}

/** What the last claims told of the store: whether more is due there than was asked for. */
export function createBacklog(clock: Clock): Backlog {
  /** In a row; at first nothing is known. */
  let fullClaims = BACKLOG
  let foundLast = true
  let gapUntilMs = -Infinity

  return {
    get goesFirst() {
      return fullClaims >= BACKLOG
    },
    get mayBe() {
      return fullClaims > 0
    },
    get isNone() {
      return fullClaims === 0 && !foundLast && clock.now() >= gapUntilMs
    },
    claimed(count, limit) {
      fullClaims = count < limit ? 0 : fullClaims + 1
      foundLast = count > 0
    },
    unknown() {
      fullClaims = BACKLOG
    },
    gap(untilMs) {
      gapUntilMs = Math.max(gapUntilMs, untilMs)
    },
  }
}
