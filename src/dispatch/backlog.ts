/** What the last claims told of the store: whether more is due there than was asked for. */
import type { Clock } from '../clock.ts'

/** So many full claims in a row are a backlog; a single one is a burst. */
const BACKLOG = 2

export interface Backlog {
  /** Older events wait, or nobody knows: they go before what comes. */
  readonly goesFirst: boolean
  /** The last claim brought all that it asked for, so that more may be due. */
  readonly mayBe: boolean
  /** The last claim found nothing, and nothing that was admitted here waits for a step of its message. */
  readonly isNone: boolean
  /** A claim of at most `limit` events brought so many. */
  claimed(count: number, limit: number): void
  /** A claim failed, or could not be made: nobody knows what waits. */
  unknown(): void
  /** An event that was admitted here may wait for a step of its message until then. */
  gap(untilMs: number): void
}

export function createBacklog(clock: Clock): Backlog {
  /** In a row; at first nothing is known. */
  let fullClaims = BACKLOG
  let foundLast = true
  let gapUntilMs = -Infinity

  return {
    get goesFirst() {
      return fullClaims >= BACKLOG
    },
    get mayBe() {
      return fullClaims > 0
    },
    get isNone() {
      return fullClaims === 0 && !foundLast && clock.now() >= gapUntilMs
    },
    claimed(count, limit) {
      fullClaims = count < limit ? 0 : fullClaims + 1
      foundLast = count > 0
    },
    unknown() {
      fullClaims = BACKLOG
    },
    gap(untilMs) {
      gapUntilMs = Math.max(gapUntilMs, untilMs)
    },
  }
}
