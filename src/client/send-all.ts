/** Sends one text to many numbers: many numbers per request, several requests at once, one outcome per number. */
import type { z } from 'zod'
import { comparable, createNumberMatch } from '../runtime/recipient-forms.ts'
import type { sendAllSchema } from './options.ts'
import { SendError } from './send-error.ts'
import type { Recipient, Sent } from './sent.ts'

/** The outcome of one number. */
export interface NumberOutcome {
  /** The number as in the list. */
  readonly to: string
  /**
   * `accepted`, `refused`, `failed` (nothing was sent), `repeated` (sent to before), `unknown` (perhaps sent) or `unsent`.
   *
   * - `accepted`: the service accepted the message.
   * - `refused`: the service refused the number, the balance or the volume. Nothing was sent.
   * - `failed`: the request failed, and nothing was sent.
   * - `repeated`: this list, or an earlier list or send with its `reference`, sent to the number before. Nothing was sent now.
   * - `unknown`: the message may have been sent. The answer is missing or unreadable, does not name the number, or has an
   *   unknown code.
   * - `unsent`: not tried, because the list was stopped.
   */
  readonly outcome: 'accepted' | 'refused' | 'failed' | 'repeated' | 'unknown' | 'unsent'
  /** Its entries of the answer. Several if parts of the message have separate ids, none without an answer. */
  readonly recipients: readonly Recipient[]
  /** Why the request failed. */
  readonly error?: SendError
}

/** Counts of numbers by outcome so far. `total` includes those not yet sent. */
export interface SendTotals extends Readonly<Record<NumberOutcome['outcome'], number>> {
  readonly total: number
}

/** The result of `client.sendAll`. */
export interface SentAll {
  /** One outcome per number, in the order of the list. */
  readonly outcomes: readonly NumberOutcome[]
  readonly totals: SendTotals
  /**
   * Why the list was stopped. `aborted`, or an error that every later request would meet as well, such as an insufficient
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

/** Errors that every later request would meet as well. */
const STOPPING: ReadonlySet<SendError['code']> = new Set([
  'unauthenticated',
  'project_not_found',
  'unknown_project',
  'insufficient_balance',
  'volume_limit',
  'not_sent',
  'unrecorded',
])

/** The result of a request: the numbers that it was sent to, without those sent to before, and its answer or error. */
export interface BatchEnd {
  readonly to: readonly string[]
  readonly answer?: Sent | undefined
  readonly error?: SendError | undefined
}

/** `send` makes one request and never rejects. */
export function sendingAll(
  all: readonly string[],
  { batch, concurrency, signal }: z.output<typeof sendAllSchema>,
  send: (to: readonly string[]) => Promise<BatchEnd>,
): SendingAll {
  const totals = { accepted: 0, refused: 0, failed: 0, repeated: 0, unknown: 0, unsent: all.length, total: all.length }
  const seen = new Set<string>()
  let stoppedBy: SendError | undefined
  let next = 0
  let sent: Promise<SentAll> | undefined

  function isNew(number: string): boolean {
    const sizeBefore = seen.size
    return seen.add(comparable(number)).size > sizeBefore
  }

  /** Resolves to the outcomes of a batch, and its position in the list. */
  async function sendBatch() {
    const from = next
    const numbers = all.slice(from, from + batch).map((number) => ({ number, isNew: isNew(number) }))
    next += numbers.length
    const to = numbers.filter((each) => each.isNew).map(({ number }) => number)
    const end = to.length === 0 ? { to } : await send(to)
    if (end.error !== undefined && STOPPING.has(end.error.code)) stoppedBy ??= end.error
    const outcomeOf = createOutcomes(end)
    const outcomes = numbers.map((each) => (each.isNew ? outcomeOf(each.number) : repeated(each.number)))
    totals.unsent -= outcomes.length
    for (const { outcome } of outcomes) totals[outcome] += 1
    return { from, outcomes }
  }

  function mayBegin(): boolean {
    if (next < all.length && signal?.aborted === true)
      stoppedBy ??= new SendError('aborted', { mayBeSent: false, attempts: 0, recipients: all.length - next })
    return next < all.length && stoppedBy === undefined
  }

  /** Yields batches in order of completion. */
  async function* batches() {
    const underWay = new Set<ReturnType<typeof sendBatch>>()
    try {
      for (;;) {
        while (underWay.size < concurrency && mayBegin()) underWay.add(sendBatch())
        if (underWay.size === 0) break
        const first = await Promise.race(Array.from(underWay, async (work) => ({ work, ended: await work })))
        underWay.delete(first.work)
        yield first.ended
      }
    } finally {
      // Waits for pending requests, so that a caller that leaves early has no unknown outcomes.
      await Promise.all(underWay)
    }
    if (next < all.length) yield { from: next, outcomes: all.slice(next).map(unsent) }
  }

  async function* eachOutcome() {
    for await (const { outcomes } of batches()) yield* outcomes
  }

  async function collect(): Promise<SentAll> {
    const outcomes: NumberOutcome[] = []
    for await (const ended of batches())
      for (const [index, each] of ended.outcomes.entries()) outcomes[ended.from + index] = each
    return { outcomes, totals: { ...totals }, stoppedBy }
  }

  return {
    get totals() {
      return { ...totals }
    },
    get stoppedBy() {
      return stoppedBy
    },
    [Symbol.asyncIterator]: eachOutcome,
    // Starts only when awaited: a caller that iterates does not await.
    then(fulfilled, rejected) {
      sent ??= collect()
      return sent.then(fulfilled, rejected)
    },
  }
}

function repeated(to: string): NumberOutcome {
  return { to, outcome: 'repeated', recipients: [] }
}

function unsent(to: string): NumberOutcome {
  return { to, outcome: 'unsent', recipients: [] }
}

/** Returns the outcome of a number of the batch. */
function createOutcomes({ to, error, answer = error?.answer }: BatchEnd): (number: string) => NumberOutcome {
  const sentTo = new Map(to.map((number) => [comparable(number), number]))
  const match = createNumberMatch(to)
  const named = Map.groupBy(answer?.recipients ?? [], (recipient) => match(recipient.to))
  return (number) => {
    const asked = sentTo.get(comparable(number))
    if (asked === undefined) return repeated(number)
    const recipients = named.get(asked) ?? []
    return { to: number, outcome: outcomeOf(recipients, error), recipients, ...(error !== undefined && { error }) }
  }
}

function outcomeOf(recipients: readonly Recipient[], error: SendError | undefined): NumberOutcome['outcome'] {
  if (recipients.some(({ outcome }) => outcome === 'accepted')) return 'accepted'
  if (recipients.length > 0) return recipients.every(({ outcome }) => outcome === 'refused') ? 'refused' : 'unknown'
  return error === undefined || error.mayBeSent ? 'unknown' : 'failed'
}
