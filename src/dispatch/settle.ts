/** The open store: telling it what became of attempts, many at once, in time, and where it is away, later. */
import type { Clock } from '../clock.ts'
import type { MessagingWebhooksError } from '../errors.ts'
import type { Absence } from '../inbox/absence.ts'
import { inBatches } from '../inbox/batch.ts'
import { Patience } from '../inbox/in-store-time.ts'
import { asStoreError } from '../inbox/store-error.ts'
import type { Awaitable, OpenStore, SettleFailed, Settlement } from '../inbox/store.ts'

/** How long to wait before a settlement is tried again. */
const AGAIN_MS = 1_000

interface SettleOptions {
  readonly clock: Clock
  /** How long to wait for an answer of the store: a connection may fall silent. */
  readonly storeTimeoutMs: number
  readonly isStopped: () => boolean
}

interface Settler {
  settle(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** The same where nobody waits for it. */
  settleLazily(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** What a handler has done must not be done again because the store was away: tries again while the lease lasts. */
  settleLater(settlement: Settlement, leaseUntilMs: number): Promise<void>
}

/** Many at once, in time, and where the store is away, later. */
export function createSettler(store: OpenStore<object>, options: SettleOptions): Settler {
  const { clock, storeTimeoutMs, isStopped } = options

  function settleInTime(
    settlements: readonly Settlement[],
    lazily: boolean,
    patience: Patience,
  ): Awaitable<readonly (boolean | SettleFailed)[]> {
    const settled = store.settle(settlements, clock.now(), lazily)
    return settled instanceof Promise ? patience.wait(settled) : settled
  }

  const patience = (): Patience => new Patience(clock, storeTimeoutMs)

  // Batches of their own: nothing that somebody waits for waits for what was put off.
  const settle: Settler['settle'] = inBatches(
    (settlements, inTime) => settleInTime(settlements, false, inTime),
    patience,
  )
  return {
    settle,
    settleLazily: inBatches((settlements, inTime) => settleInTime(settlements, true, inTime), patience),
    async settleLater(settlement, leaseUntilMs) {
      while (!isStopped() && clock.now() + AGAIN_MS < leaseUntilMs) {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, AGAIN_MS))
        try {
          // Where it says no, an earlier call has done it after all, or the lease is lost; the failure was reported.
          await settle(settlement)
          return
        } catch {
          // The same outage.
        }
      }
    },
  }
}

/** An open store, and who settles in it. */
export interface Opened extends Settler {
  readonly store: OpenStore<object>
}

/** Where the dispatcher is in its life: the one state that all its parts look at, and that only dispatcher.ts changes. */
export interface Life {
  /** Undefined until the store is open: nothing is leased before. */
  opened: Opened | undefined
  /** Nothing more is asked for. What is leased already, or will be by what is under way, still runs. */
  stopped: boolean
  /** Stopped, and what ran then was waited for. */
  over: boolean
}

export interface StoreAway {
  failed(error: unknown): void
  answered(): void
}

/** An outage of the store is said once, not at each try: until it has answered, failures are the same outage. */
export function createStoreAway(report: (error: MessagingWebhooksError) => void, absence: Absence): StoreAway {
  let isAway = false
  return {
    failed(error) {
      if (isAway) return
      isAway = true
      report(asStoreError(error))
      absence.begin('dispatch')
    },
    answered() {
      if (!isAway) return
      isAway = false
      absence.end('dispatch')
    },
  }
}
