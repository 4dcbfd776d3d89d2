/**
 * Telling the store what became of attempts: many at once, in time, and where it is away, later. A settlement that nobody waits for
 * is held for others, unless somebody drains or closes.
 */
import { asOurs } from '../public/errors.ts'
import { inBatches, waitFor, type Hold } from '../inbox/in-store-time.ts'
import type { OpenStore, Settlement } from '../inbox/store.ts'
import type { DispatchOptions, Observers, Opened, Phase, Work } from './work.ts'

export interface Settlements {
  /** Somebody waits for all to be settled, so that none is put off. */
  readonly isHurried: boolean
  /** The store, with batches of its own: nothing that somebody waits for waits for what was put off. */
  into(store: OpenStore<object>): Opened
  /** Writes what is held. */
  writeHeld(): void
  /** The same, and holds none from now on, until the function that it returns is called. */
  hurry(): () => void
  /**
   * Tries again what the store could not be told of, as long as the lease lasts: what a handler has done must not be done again because
   * the store was away. Resolves to false: nobody knows that it was settled in time.
   */
  settleLater(work: Work, settlement: Settlement, error: unknown): Promise<false>
}

type SettlementsOptions = Pick<DispatchOptions, 'clock' | 'concurrency' | 'storeTimeoutMs' | 'absence'> & {
  readonly observers: Observers
  readonly phase: Phase
}

/** How long to wait before a settlement is tried again. */
const AGAIN_MS = 1_000

export function createSettlements(options: SettlementsOptions): Settlements {
  const { clock, concurrency, storeTimeoutMs, absence, observers, phase } = options
  const holds: Hold[] = []
  let hurried = 0

  const settlements = {
    isHurried: false,
    into(store: OpenStore<object>): Opened {
      const { settleHoldMs = 0 } = store
      const settling = (lazily: boolean, hold?: Hold): Opened['settle'] =>
        inBatches(
          clock,
          storeTimeoutMs,
          (batch: readonly Settlement[], patience) => {
            const settled = (observers.meter?.measured(store) ?? store).settle(batch, clock.now(), lazily)
            return settled instanceof Promise ? waitFor(patience, settled) : settled
          },
          hold,
        )
      // What is held has no slot, but is in flight, of which there is room for a few times as many as there are slots.
      const hold = settleHoldMs > 0 ? { holdMs: settleHoldMs, most: concurrency, writeNow() {} } : undefined
      if (hold !== undefined) holds.push(hold)
      return { store, hold, settle: settling(false), settleLazily: settling(true, hold) }
    },
    writeHeld() {
      for (const hold of holds) hold.writeNow()
    },
    hurry() {
      hurried += 1
      settlements.isHurried = true
      settlements.writeHeld()
      return () => {
        hurried -= 1
        settlements.isHurried = hurried > 0
      }
    },
    async settleLater({ from, leaseUntilMs }: Work, settlement: Settlement, error: unknown): Promise<false> {
      if (!phase.isStopped) absence.begin('dispatch', asOurs(error, 'store_failed'))
      while (!phase.isStopped && clock.now() + AGAIN_MS < leaseUntilMs) {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, AGAIN_MS))
        try {
          // Where it says no, an earlier call has done it after all, or the lease is lost; the failure was reported.
          await from.settle(settlement)
          break
        } catch {
          // The same outage.
        }
      }
      return false
    },
  }
  return settlements
}
