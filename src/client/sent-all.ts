/** What became of a long list, as plain data. */
import type { SendError } from './send-error.ts'
import type { Sent } from './sent.ts'

/** How many numbers came to which end so far. All but `total` add up to it. */
export interface SendCounts {
  /** All numbers of the list. */
  readonly total: number
  /** The service has taken their messages. */
  readonly accepted: number
  /** The service has refused them one by one. */
  readonly refused: number
  /** Of batches that failed so that nothing of them was sent. */
  readonly failed: number
  /** Of batches that an earlier run with the same `reference` had begun: see `sender`. */
  readonly repeated: number
  /** Nobody can say: of batches without a readable answer, with a code that nobody knows, or not named in the answer. */
  readonly unknown: number
  /** Not tried, or not yet. */
  readonly unsent: number
}

/** What `onProgress` is told. */
export interface SendProgress extends SendCounts {
  /** Batches that have come to their end. */
  readonly batches: number
}

/** A batch that has no answer with recipients. */
export interface FailedBatch {
  readonly to: readonly string[]
  /** Why; its `mayBeSent` says whether they may get their messages all the same. */
  readonly error: SendError
}

/** A batch that a `sender` had begun before, under this reference: nothing was sent now. */
export interface RepeatedBatch {
  readonly to: readonly string[]
  readonly reference: string
}

/** What became of a list. */
export interface SentAll {
  /** The answers, in the order of the list. */
  readonly sent: readonly Sent[]
  /** The batches that failed, in the order of the list. */
  readonly failed: readonly FailedBatch[]
  /** The batches that an earlier run with the same `reference` had begun, in the order of the list. */
  readonly repeated: readonly RepeatedBatch[]
  /** The numbers that were not tried, because the whole was stopped. */
  readonly unsent: readonly string[]
  /** How many numbers came to which end. */
  readonly counts: SendCounts
  /** Why it was stopped before its end: `aborted`, or what every later batch would have met, too, as a balance that is too low. */
  readonly stoppedBy: SendError | undefined
}
