/** Delays between attempts: exponential backoff with full jitter, so that failures do not retry in step. */

export interface RetryPolicy {
  readonly attempts: number
  readonly initialDelayMs: number
  readonly maxDelayMs: number
}

/** The delay after the failure of attempt number `attempt` (from 1). Stored, so that it outlives a restart. */
export function retryDelayMs(attempt: number, policy: RetryPolicy, random: () => number = Math.random): number {
  const ceiling = Math.min(policy.maxDelayMs, policy.initialDelayMs * 2 ** (attempt - 1))
  return Math.round(random() * ceiling)
}
