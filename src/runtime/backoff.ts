/** When something that failed is tried again: exponential back-off with full jitter, so that failures do not come in step. */

export interface RetryPolicy {
  readonly attempts: number
  readonly initialDelayMs: number
  readonly maxDelayMs: number
}

/** The delay after attempt number `attempt` (from 1) failed. The delay must outlive a restart, so it is a number. */
export function retryDelayMs(attempt: number, policy: RetryPolicy, random: () => number = Math.random): number {
  const ceiling = Math.min(policy.maxDelayMs, policy.initialDelayMs * 2 ** (attempt - 1))
  return Math.round(random() * ceiling)
}
