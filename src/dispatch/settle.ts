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
  const absence = state.absenceOf?.(store) ?? state.absence
  return { store, absence, hold, settle: settling(false), settleLazily: settling(true, hold) }
}

/** Who settles what this part of the store has leased: each part has batches of its own, so that none waits for another. */
export function openedOf(state: DispatchState, opened: Opened, part: OpenStore<object> | undefined): Opened {
  if (part === undefined || part === opened.store) return opened
  const known = state.parts.get(part)
  if (known !== undefined) return known
  const made = withSettlements(state, part)
  state.parts.set(part, made)
  return made
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
  if (!state.stopped) from.absence.begin('dispatch', asOurs(error, 'store_failed'))
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
