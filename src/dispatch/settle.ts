/** Telling the store what became of attempts: many at once, in time, and where it is away, later. */
import { asOurs } from '../errors.ts'
import { inBatches, waitFor, type Hold } from '../inbox/in-store-time.ts'
import type { OpenStore, Settlement } from '../inbox/store.ts'
import type { DispatchState, Opened, Work } from './state.ts'

/** Batches of their own: nothing that somebody waits for waits for what was put off. */
export function withSettlements(state: DispatchState, store: OpenStore<object>): Opened {
  const { clock, concurrency, storeTimeoutMs } = state
  const { settleHoldMs = 0 } = store
  const settling = (lazily: boolean, hold?: Hold): Opened['settle'] =>
    inBatches(
      clock,
      storeTimeoutMs,
      (settlements: readonly Settlement[], patience) => {
        const settled = (state.meter?.measured(store) ?? store).settle(settlements, clock.now(), lazily)
        return settled instanceof Promise ? waitFor(patience, settled) : settled
      },
      hold,
    )
  // What is held has no slot, but is in hand, of which there is room for a few times as many as there are slots.
  const hold = settleHoldMs > 0 ? { holdMs: settleHoldMs, most: concurrency, writeNow() {} } : undefined
  if (hold !== undefined) state.holds.push(hold)
  return { store, hold, settle: settling(false), settleLazily: settling(true, hold) }
}

/** How long to wait before a settlement is tried again. */
const AGAIN_MS = 1_000

/**
 * Of one that the store could not be told of: what a handler has done must not be done again because the store was away, so
 * it is tried again while the lease lasts. Resolves to false: nobody knows that it was settled in time.
 */
export async function settleLater(
  state: DispatchState,
  { from, leaseUntilMs }: Work,
  settlement: Settlement,
  error: unknown,
): Promise<false> {
  const { clock } = state
  if (!state.stopped) state.absence.begin('dispatch', asOurs(error, 'store_failed'))
  while (!state.stopped && clock.now() + AGAIN_MS < leaseUntilMs) {
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
}
