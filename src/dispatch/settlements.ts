/**
 * Settles attempts in the store: in batches, within a time limit, and again after an outage. Settlements that nothing waits for
 * are held back to fill batches, except during a drain or close.
 */
import { asOurs } from '../public/errors.ts'
import { inBatches, waitFor, type BatchWindow } from '../inbox/in-store-time.ts'
import type { OpenStore, Settlement } from '../inbox/store.ts'
import type { DispatchOptions, Observers, Opened, Phase, Work } from './work.ts'

export type Settlements = Readonly<ReturnType<typeof createSettlements>>

type SettlementsOptions = Pick<DispatchOptions, 'clock' | 'concurrency' | 'storeTimeoutMs' | 'availability'> & {
  readonly observers: Observers
  readonly phase: Phase
}

/** Delay between retries of a settlement. */
const AGAIN_MS = 1_000

export function createSettlements(options: SettlementsOptions) {
  const { clock, concurrency, storeTimeoutMs, availability, observers, phase } = options
  const windows: BatchWindow[] = []
  let hurried = 0

  const settlements = {
    /** A drain waits for all settlements, so none is held back. */
    isHurried: false,
    /** Opens the store with batches of its own. Urgent settlements do not wait for deferred ones. */
    into(store: OpenStore<object>): Opened {
      const { settleLingerMs = 0 } = store
      const settling = (deferrable: boolean, window?: BatchWindow): Opened['settle'] =>
        inBatches(
          clock,
          storeTimeoutMs,
          (batch: readonly Settlement[], deadline) => {
            const settled = (observers.meter?.measured(store) ?? store).settle(batch, clock.now(), deferrable)
            return settled instanceof Promise ? waitFor(deadline, settled) : settled
          },
          window,
        )
      // Held settlements have no slot, but count as in flight. That limit is several times the number of slots.
      const window = settleLingerMs > 0 ? { lingerMs: settleLingerMs, most: concurrency, writeNow() {} } : undefined
      if (window !== undefined) windows.push(window)
      return { store, window, settle: settling(false), settleDeferrable: settling(true, window) }
    },
    writeHeld(): void {
      for (const window of windows) window.writeNow()
    },
    /** Writes held settlements and holds none back until the returned function is called. */
    hurry(): () => void {
      hurried += 1
      settlements.isHurried = true
      settlements.writeHeld()
      return () => {
        hurried -= 1
        settlements.isHurried = hurried > 0
      }
    },
    /**
     * Retries a failed settlement as long as the lease is valid, so that completed work is not repeated because of an outage.
     * The settlement was not confirmed in time either way.
     */
    async settleLater({ from, leaseUntilMs }: Work, settlement: Settlement, error: unknown): Promise<void> {
      if (!phase.isStopped) availability.begin('dispatch', asOurs(error, 'store_failed'))
      while (!phase.isStopped && clock.now() + AGAIN_MS < leaseUntilMs) {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, AGAIN_MS))
        try {
          // A negative answer means that an earlier call succeeded after all, or that the lease is lost. The failure was
          // already reported.
          await from.settle(settlement)
          break
        } catch {
          // The outage continues.
        }
      }
    },
  }
  return settlements
}
