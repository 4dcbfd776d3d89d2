/** The result of a long list, as plain data. */
import type { SendError } from './send-error.ts'
import type { Recipient } from './sent.ts'

/** The outcome of one number. */
export interface NumberOutcome {
  /** As in the list. */
  readonly to: string
  /**
   * - `accepted`: the service accepted the message.
   * - `refused`: the service refused the number, the balance or the volume. Nothing was sent.
   * - `failed`: the request failed, and nothing was sent.
   * - `repeated`: this list, or an earlier one with its `reference`, sent to the number before. Nothing was sent now.
   * - `unknown`: the message may have been sent. The answer is missing or unreadable, does not name the number, or has an
   *   unknown code.
   * - `unsent`: not tried, because the list was stopped.
   */
  readonly outcome: 'accepted' | 'refused' | 'failed' | 'repeated' | 'unknown' | 'unsent'
  /** Entries of the answer: several if parts of the message have separate ids, none without an answer. */
  readonly recipients: readonly Recipient[]
  /** Why the request failed. */
  readonly error?: SendError
}

/** Counts of numbers by outcome so far. `total` includes those not yet sent. */
export interface SendTotals extends Readonly<Record<NumberOutcome['outcome'], number>> {
  readonly total: number
}

/** The result of a list. */
export interface SentAll {
  /** One outcome per number, in the order of the list. */
  readonly outcomes: readonly NumberOutcome[]
  readonly totals: SendTotals
  /**
   * Why the list was stopped: `aborted`, or an error that every later request would meet as well, such as an insufficient
   * balance.
   */
  readonly stoppedBy: SendError | undefined
}

/**
 * A list that starts when it is awaited or iterated. Iteration yields each outcome as soon as it is known and keeps none;
 * leaving the loop stops the list after the pending requests, and a slow loop pauses it. Await or iterate it once.
 */
export interface SendingAll extends AsyncIterable<NumberOutcome>, PromiseLike<SentAll> {
  /** The counts so far. */
  readonly totals: SendTotals
  /** As in `SentAll`. */
  readonly stoppedBy: SendError | undefined
}
