/** How long a lease lasts: an attempt must end within it, for after it another process may run the event. */
import type { Clock } from '../clock.ts'
import type { HandlerRegistry } from './handlers.ts'

/** A lease outlasts the longest attempt by this much, so that there is time to wait for a slot and to settle. */
const MARGIN_MS = 10_000

interface LeaseOptions {
  readonly clock: Clock
  readonly handlers: HandlerRegistry
  readonly handlerTimeoutMs: number
}

export interface Lease {
  /** When one ends that begins then. */
  untilMs(nowMs: number): number
  /** Whether an attempt that begins now would end in time, however long it takes. */
  isLongEnough(leaseUntilMs: number): boolean
}

export function createLease({ clock, handlers, handlerTimeoutMs }: LeaseOptions): Lease {
  /** The schema and each handler have their own time. */
  function longestMs(): number {
    return (1 + handlers.most) * handlerTimeoutMs
  }

  return {
    untilMs: (nowMs) => nowMs + longestMs() + MARGIN_MS,
    isLongEnough: (leaseUntilMs) => clock.now() + longestMs() <= leaseUntilMs,
  }
}
