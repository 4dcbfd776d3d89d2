/** Settles attempts in the store: in batches, within a time limit, and again after an outage. */
import { asOurs } from '../public/errors.ts'
import { inBatches, waitFor } from '../inbox/in-store-time.ts'
import type { MessageStore } from '../inbox/store.ts'
import type { Settle } from '../messages/commands.ts'
import type { DispatchOptions, Observers, Opened, Phase, Work } from './work.ts'

export type Settlements = Readonly<ReturnType<typeof createSettlements>>

type SettlementsOptions = Pick<DispatchOptions, 'clock' | 'storeTimeoutMs' | 'availability'> & {
  readonly observers: Observers
  readonly phase: Phase
}

/** Delay between retries of a settlement. */
const AGAIN_MS = 1_000

export function createSettlements(options: SettlementsOptions) {
  const { clock, storeTimeoutMs, availability, observers, phase } = options

  return {
    /** Opens the store with batches of its own. Urgent settlements do not wait for deferred ones. */
    into(store: MessageStore<object>): Opened {
      const settling = (deferrable: boolean): Opened['settle'] =>
        inBatches(clock, storeTimeoutMs, (batch: readonly Settle[], deadline) => {
          const settle = () => store.run(batch, deferrable)
          const settled = observers.meter === undefined ? settle() : observers.meter.timed('settle', settle)
          return settled instanceof Promise ? waitFor(deadline, settled) : settled
        })
      return { store, settle: settling(false), settleDeferrable: settling(true) }
    },
    /**
     * Retries a failed settlement as long as the lease is valid, so that completed work is not repeated because of an outage.
     * The settlement was not confirmed in time either way.
     */
    async settleLater({ from, leaseUntilMs }: Work, settlement: Settle, error: unknown): Promise<void> {
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
}
