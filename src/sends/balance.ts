/** Adds up the outcomes of messages. An unanswered send counts its recipients. */
import type { FailureCause } from '../public/events.ts'
import { isPendingSend, listedAt, type Expectation } from '../messages/expected.ts'
import { finalsOf } from '../inbox/latest.ts'
import { failureOf, type Report } from '../messages/event-record.ts'
import type { StoredExpectation } from '../messages/views.ts'
import { sendOf } from './pending.ts'

/**
 * The outcomes of the sends of a period, by `messageState`. Each message is counted in exactly one number beside `sent` and
 * `resent`. A repetition is a message of its own.
 */
export interface SendAccount {
  /** All messages, including refused ones. */
  readonly sent: number
  /** How many of them repeat an earlier message (`resendOf`). */
  readonly resent: number
  readonly delivered: number
  readonly read: number
  /**
   * Messages with both a successful and a failed final report. A message that was sent again and then delivered after all counts
   * as delivered, if all its failures are transient.
   */
  readonly contradictory: number
  /**
   * Failed messages, by cause. Includes transient failures, except those of transactional sends, which the service sends again.
   */
  readonly failed: Readonly<Partial<Record<FailureCause, number>>>
  /** Overdue messages without a final report. */
  readonly overdue: number
  /** Messages without a final report that are not overdue, and recipients of pending sends. */
  readonly waiting: number
  /**
   * Messages of which no report can be matched: premium SMS without the option `readReport`, and recipients that the service
   * accepted without a message id.
   */
  readonly unreported: number
  /** Recipients of sends whose answer is unknown, and for which `send.unknown` exists. */
  readonly unknown: number
  /** Recipients refused in the answer to the send, by cause. */
  readonly refused: Readonly<Partial<Record<FailureCause, number>>>
}

type Outcome =
  | { readonly state: 'delivered' | 'read' | 'contradictory' | 'overdue' | 'waiting' | 'unreported' | 'unknown' }
  | { readonly state: 'failed' | 'refused'; readonly cause: FailureCause }

/**
 * A send and the entries of its answer are listed in the same millisecond, in any order and possibly on two pages. So the
 * balance remembers the sends of one millisecond only.
 */
export function createBalance() {
  const sum = {
    sent: 0,
    resent: 0,
    delivered: 0,
    read: 0,
    contradictory: 0,
    overdue: 0,
    waiting: 0,
    unreported: 0,
    unknown: 0,
  }
  const causes = { failed: new Map<FailureCause, number>(), refused: new Map<FailureCause, number>() }
  const sends = new Map<string, { pending: StoredExpectation | undefined; written: number; answered: number }>()
  let atMs: number | undefined

  function count({ resendOf }: Expectation, outcome: Outcome, messages = 1): void {
    sum.sent += messages
    if (resendOf !== undefined) sum.resent += messages
    if ('cause' in outcome) {
      const counts = causes[outcome.state]
      counts.set(outcome.cause, (counts.get(outcome.cause) ?? 0) + messages)
    } else {
      sum[outcome.state] += messages
    }
  }

  function seeSend(found: StoredExpectation): void {
    const { expectation } = found
    const send = sends.get(sendOf(expectation)) ?? { pending: undefined, written: 0, answered: 0 }
    sends.set(sendOf(expectation), send)
    if (isPendingSend(expectation)) send.pending = found
    else {
      send.written += 1
      send.answered = expectation.answered ?? 0
    }
  }

  function countUnanswered(): void {
    for (const { pending, written, answered } of sends.values()) {
      const { recipients = 0 } = pending?.expectation ?? {}
      if (pending === undefined || recipients === 0) continue
      // If only a part of an answer was recorded, the rest counts as unknown once `send.unknown` exists.
      const missing = written === 0 ? recipients : pending.wasOverdue ? answered - written : 0
      if (missing > 0) count(pending.expectation, { state: pending.wasOverdue ? 'unknown' : 'waiting' }, missing)
    }
    sends.clear()
  }

  return {
    /** Whether the sends of an earlier millisecond must be counted first. */
    isBehind: ({ expectation }: StoredExpectation) => atMs !== undefined && atMs !== listedAt(expectation),
    see(found: StoredExpectation): void {
      const { expectation } = found
      atMs = listedAt(expectation)
      if (expectation.reference !== undefined) seeSend(found)
      if (!isPendingSend(expectation)) count(expectation, outcomeOf(found))
    },
    countUnanswered,
    drawn(): SendAccount {
      return { ...sum, failed: Object.fromEntries(causes.failed), refused: Object.fromEntries(causes.refused) }
    },
  }
}

function outcomeOf(found: StoredExpectation): Outcome {
  const { expectation, wasOverdue } = found
  if (expectation.refused !== undefined) return { state: 'refused', cause: expectation.refused }
  const ends = finalsOf(found).flatMap(({ report }) => report ?? [])
  const last = ends.at(-1)
  if (last === undefined) {
    if (expectation.unreported === true) return { state: 'unreported' }
    return { state: wasOverdue ? 'overdue' : 'waiting' }
  }
  const failures = ends.filter(isFailure)
  // A transient failure is why a message was sent again, so a later success does not contradict it.
  const isAfterAll = expectation.repeatedAtMs !== undefined && !isFailure(last) && failures.every(isTransient)
  if (failures.length > 0 && failures.length < ends.length && !isAfterAll) return { state: 'contradictory' }
  if (isFailure(last)) return { state: 'failed', cause: failureOf(last).cause }
  return { state: last.type === 'message.read' ? 'read' : 'delivered' }
}

function isFailure({ type }: Report): boolean {
  return type === 'message.failed'
}

function isTransient(report: Report): boolean {
  return failureOf(report).kind === 'transient'
}
