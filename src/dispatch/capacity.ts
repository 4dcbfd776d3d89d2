/** How many events this process may lease now: one per free slot, and some ahead if handlers are fast. */
import type { MessageStore } from '../inbox/store.ts'
import type { ClaimRequest } from './claim.ts'

/** Weight of a faster attempt in the moving average. A slower attempt replaces the average. */
const SHARE = 1 / 8
/** The longest time that an event leased ahead should wait for its slot. */
const AHEAD_MS = 50
/**
 * Maximum number of events leased ahead per slot. If handlers suddenly hang, these wait for them, and no other process can run
 * them.
 */
const MAX_AHEAD = 7
/**
 * Maximum number of events in flight per slot, including those being settled, which bounds the backlog of a slow store. A
 * lower limit leaves more to claims, which take two statements an event: with 4, and 3 ahead, 128 connections cost Postgres 1.8
 * times the CPU and Redis 1.7 times.
 */
const MAX_PER_SLOT = 16

export function createCapacity(concurrency: number) {
  const held: ClaimRequest[] = []
  /** Recent duration of the handlers of an event. Infinity while unknown. */
  let attemptMs = Infinity

  return {
    /** Whether pending requests to the store hold capacity for the events that they may return. */
    isAnyHeld: (): boolean => held.length > 0,
    /** Holds the capacity of a pending request. */
    holdCapacity: (request: ClaimRequest): void => void held.push(request),
    /** Releases it when the store has responded or timed out. False if it was released before. */
    releaseCapacity(request: ClaimRequest): boolean {
      const place = held.indexOf(request)
      if (place !== -1) held.splice(place, 1)
      return place !== -1
    },
    /** Records how long the handlers of an event took: it predicts the wait for a slot. */
    learnPace(tookMs: number): void {
      // The clock may have been set back. A negative duration would leave no capacity.
      const ms = Math.max(tookMs, 0)
      attemptMs = ms >= attemptMs || attemptMs === Infinity ? ms : attemptMs + (ms - attemptMs) * SHARE
    },
    /** `occupied`: events that have a slot or wait for one. `running`: events in flight. */
    left({ transactions }: MessageStore<object>, occupied: number, running: number): number {
      // Each handler in a transaction needs a connection, so lease nothing ahead of those.
      const ahead = transactions === undefined ? Math.min(MAX_AHEAD, Math.floor(AHEAD_MS / attemptMs)) : 0
      const places = Math.min(concurrency, transactions?.most ?? Infinity)
      let left = Math.min(places - occupied + ahead * concurrency, MAX_PER_SLOT * concurrency - running)
      for (const { limit } of held) left -= limit
      return left
    },
  }
}
