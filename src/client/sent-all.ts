/** What became of a long list, as plain data. */
import type { SendError } from './send-error.ts'
import type { Recipient } from './sent.ts'

/** What became of a number of a list. */
export interface NumberOutcome {
  /** As the list has it. */
  readonly to: string
  /**
   * - `accepted`: the service has taken its message.
   * - `refused`: the service has refused the number, its balance or its volume: nothing was sent.
   * - `failed`: its request failed so that nothing was sent.
   * - `repeated`: it was sent to before, by this list or by an earlier one with its `reference`; nothing was sent now.
   * - `unknown`: nobody can say: its request has no readable answer, or the answer does not name it, or with a code that nobody knows.
   * - `unsent`: not tried, because the list was stopped.
   */
  readonly outcome: 'accepted' | 'refused' | 'failed' | 'repeated' | 'unknown' | 'unsent'
  /** What the answer says of it; several where parts of its message have ids of their own, none where there is no answer. */
  readonly recipients: readonly Recipient[]
  /** Why its request failed. */
  readonly error?: SendError
}

/** How many numbers of a list came to which end so far; `total` is their sum with those that are to come. */
export interface SendTotals extends Readonly<Record<NumberOutcome['outcome'], number>> {
  readonly total: number
}

/** What became of a list. */
export interface SentAll {
  /** One for each number, in the order of the list. */
  readonly outcomes: readonly NumberOutcome[]
  readonly totals: SendTotals
  /** Why it was stopped before its end: `aborted`, or what every later request would have met, too, as a balance that is too low. */
  readonly stoppedBy: SendError | undefined
}

/**
 * A list that is sent when this is awaited, or iterated: then each outcome comes as soon as it is known, none is kept, and no more is sent
 * than is taken. Who leaves the loop stops the list between requests. `await` it or iterate it once; without either, nothing is sent.
 */
export interface SendingAll extends AsyncIterable<NumberOutcome>, PromiseLike<SentAll> {
  /** So far. */
  readonly totals: SendTotals
  /** As in `SentAll`. */
  readonly stoppedBy: SendError | undefined
}
