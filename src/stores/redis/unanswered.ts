/**
 * Leases that may be ours though no answer said so, for a connection broke: they are asked for again under the name of the
 * same call, which gets the same, and are not left to run out.
 */
import type { ClaimRequest } from '../../inbox/store.ts'

export interface Asked {
  readonly messageKey: string
  /** The name by which the script knows that it has run for this. */
  readonly name: string
  readonly leaseUntilMs: number
}

export interface Unanswered {
  add(asked: readonly Asked[]): void
  /** Takes those out that this request may get, at most as many as it wants. */
  take(request: ClaimRequest): readonly Asked[]
}

export function createUnanswered(): Unanswered {
  let waiting: readonly Asked[] = []
  return {
    add(asked) {
      waiting = [...waiting, ...asked]
    },
    take({ limit, nowMs, exclude }) {
      if (waiting.length === 0) return waiting
      const valid = waiting.filter(({ leaseUntilMs }) => leaseUntilMs > nowMs)
      const fitting: Asked[] = []
      const messages = new Set(exclude)
      for (const asked of valid) {
        if (fitting.length === limit || messages.has(asked.messageKey)) continue
        messages.add(asked.messageKey)
        fitting.push(asked)
      }
      waiting = valid.filter((asked) => !fitting.includes(asked))
      return fitting
    },
  }
}
