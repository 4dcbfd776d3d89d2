/** Tells the store what became of the attempts: many at once, in time, and where the store is away, later. */
import type { Clock } from '../clock.ts'
import { inBatches } from '../inbox/batch.ts'
import { inStoreTime } from '../inbox/in-store-time.ts'
import type { Awaitable, OpenStore, SettleFailed, Settlement } from '../inbox/store.ts'

/** How long to wait before a settlement is tried again. */
const AGAIN_MS = 1_000

interface SettleOptions {
  readonly clock: Clock
  /** How long to wait for an answer of the store: a connection may fall silent. */
  readonly storeTimeoutMs: number
  readonly isStopped: () => boolean
}

export interface Settler {
  settle(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** The same where nobody waits for it. */
  settleLazily(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** What a handler has done must not be done again because the store was away: tries again while the lease lasts. */
  settleLater(settlement: Settlement, leaseUntilMs: number): Promise<void>
}

export function createSettler(store: OpenStore<object>, options: SettleOptions): Settler {
  const { clock, storeTimeoutMs, isStopped } = options

  function settleInTime(
    settlements: readonly Settlement[],
    lazily: boolean,
  ): Awaitable<readonly (boolean | SettleFailed)[]> {
    const settled = store.settle(settlements, clock.now(), lazily)
    if (!(settled instanceof Promise)) return settled
    return inStoreTime(clock, storeTimeoutMs, settled)
  }

  // Batches of their own: nothing that somebody waits for waits for what was put off.
  const settle: Settler['settle'] = inBatches((settlements) => settleInTime(settlements, false))
  return {
    settle,
    settleLazily: inBatches((settlements) => settleInTime(settlements, true)),
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
