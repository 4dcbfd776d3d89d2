/** Decides after a failed attempt: the event is retried after a delay or becomes a dead letter. */
import { retryDelayMs, type RetryPolicy } from '../runtime/backoff.ts'

/**
 * The delay before the next attempt, given the number of the failed one (from 1) and a random number from 0 to 1. Undefined after the
 * last attempt: the event becomes a dead letter.
 */
export function delayAfterFailure(attempt: number, policy: RetryPolicy, random: number): number | undefined {
  return attempt >= policy.attempts ? undefined : retryDelayMs(attempt, policy, () => random)
}
