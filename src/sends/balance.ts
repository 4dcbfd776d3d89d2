/** Adds up what became of messages: of a chain of sends one, and of a send without an answer as many as it is to. */
import type { FailureCause } from '../public/events.ts'
import { isBegun, listedAt } from '../messages/expected.ts'
import { isOpen } from '../inbox/latest.ts'
import { failureOf, type Report } from '../messages/event-record.ts'
import type { StoredExpectation } from '../inbox/store.ts'
import { sendOf } from './begun.ts'

/**
 * What became of what was sent in a period, by `messageState`: each message is in exactly one of the numbers below `sent`, and one that was
 * sent again once, by its last send, unless an earlier one was delivered after all.
 */
export interface Account {
  /** All of them, those that were refused too. */
  readonly sent: number
  readonly delivered: number
  readonly read: number
  /** Of which one final report says that it was delivered or read, and another that it failed. */
  readonly contradictory: number
  /** Failed, by cause; for now, too, where nothing came since, but of transactional sends, which the service sends again. */
  readonly failed: Readonly<Partial<Record<FailureCause, number>>>
  /** No end was reported in time, nor since. */
  readonly overdue: number
  /** No end was reported, and there is time; or a send to them was begun, and its answer is awaited. */
  readonly waiting: number
  /** Premium SMS that the service has taken, where no report of them can be read: without the option `readReport`. */
  readonly unreported: number
  /** Of sends whose answer nobody knows, of which `send.unknown` was made. */
  readonly unknown: number
  /** Refused in the answer to the send, by cause. */
  readonly refused: Readonly<Partial<Record<FailureCause, number>>>
}

type Outcome =
  | { readonly state: 'delivered' | 'read' | 'contradictory' | 'overdue' | 'waiting' | 'unreported' | 'unknown' }
  | { readonly state: 'failed' | 'refused'; readonly cause: FailureCause }

interface Balance {
  /** What was seen before stands in another millisecond, and has to be caught up with first. */
  isBehind(found: StoredExpectation): boolean
  see(found: StoredExpectation): void
  catchUp(): Promise<void>
  drawn(): Account
}

/**
 * What belongs together stands in one millisecond of the list, in any order and perhaps on two pages, so no more than that is
 * remembered: sends without an answer, and messages that were sent again. `find`: a message by its key.
 */
export function createBalance(find: (messageKey: string) => Promise<StoredExpectation | undefined>): Balance {
  const sum = { sent: 0, delivered: 0, read: 0, contradictory: 0, overdue: 0, waiting: 0, unreported: 0, unknown: 0 }
  const causes = { failed: new Map<FailureCause, number>(), refused: new Map<FailureCause, number>() }
  const sends = new Map<string, { begun: StoredExpectation | undefined; written: number; answered: number }>()
  const chains = new Map<string, StoredExpectation[]>()
  let atMs: number | undefined

  function count(outcome: Outcome, messages = 1): void {
    sum.sent += messages
    if ('cause' in outcome) {
      const counts = causes[outcome.state]
      counts.set(outcome.cause, (counts.get(outcome.cause) ?? 0) + messages)
    } else {
      sum[outcome.state] += messages
    }
  }

  function seeSend(found: StoredExpectation): void {
    const { expectation } = found
    const send = sends.get(sendOf(expectation)) ?? { begun: undefined, written: 0, answered: 0 }
    sends.set(sendOf(expectation), send)
    if (isBegun(expectation)) send.begun = found
    else {
      send.written += 1
      send.answered = expectation.answered ?? 0
    }
  }

  function countUnanswered(): void {
    for (const { begun, written, answered } of sends.values()) {
      const { recipients = 0, resendOf } = begun?.expectation ?? {}
      // Until there is an answer, a repetition leaves its chain counted as the failure that led to it.
      if (begun === undefined || recipients === 0 || (resendOf !== undefined && written === 0)) continue
      // Of an answer of which not all was written down, the rest is unknown as soon as that is said of the send.
      const missing = written === 0 ? recipients : begun.wasOverdue ? answered - written : 0
      if (missing > 0) count({ state: begun.wasOverdue ? 'unknown' : 'waiting' }, missing)
    }
    sends.clear()
  }

  async function countChains(): Promise<void> {
    for (const [chainKey, links] of chains) {
      const ordered = links.toSorted((a, b) => (a.expectation.attempt ?? 1) - (b.expectation.attempt ?? 1))
      const [first] = ordered
      // The one before is about to be told of its repetition: it is counted by itself until then.
      const isTold = first?.expectation.resendOf === undefined || (await find(chainKey)) === undefined
      const outcomes = ordered.map(outcomeOf)
      const outcome = outcomes.find(({ state }) => state === 'delivered' || state === 'read') ?? outcomes.at(-1)
      if (isTold && outcome !== undefined) count(outcome)
    }
    chains.clear()
  }

  return {
    isBehind: ({ expectation }) => atMs !== undefined && atMs !== listedAt(expectation),
    see(found) {
      const { expectation, messageKey } = found
      atMs = listedAt(expectation)
      if (expectation.reference !== undefined) seeSend(found)
      if (isBegun(expectation)) return
      if (expectation.resendOf === undefined && expectation.repeated === undefined) {
        count(outcomeOf(found))
        return
      }
      const { chainKey = messageKey } = expectation
      chains.set(chainKey, [...(chains.get(chainKey) ?? []), found])
    },
    async catchUp() {
      countUnanswered()
      await countChains()
    },
    drawn: () => {
      return { ...sum, failed: Object.fromEntries(causes.failed), refused: Object.fromEntries(causes.refused) }
    },
  }
}

function outcomeOf(found: StoredExpectation): Outcome {
  const { expectation, latest, wasOverdue } = found
  if (expectation.refused !== undefined) return { state: 'refused', cause: expectation.refused }
  if (latest === undefined || isOpen(found)) {
    if (expectation.unreported === true) return { state: 'unreported' }
    return { state: wasOverdue ? 'overdue' : 'waiting' }
  }
  const { record, finals } = latest
  const ends = [...finals, record].flatMap(({ report }) => report ?? [])
  const isSuccess = ({ type }: Report): boolean => type === 'message.delivered' || type === 'message.read'
  if (ends.some(isSuccess) && finals.some(({ report }) => report?.type === 'message.failed'))
    return { state: 'contradictory' }
  // What came after the end and is none of its own, as that it was sent, says nothing of it.
  const end = ends.findLast((report) => isSuccess(report) || report.type === 'message.failed')
  if (end?.type === 'message.failed') return { state: 'failed', cause: failureOf(end).cause }
  return { state: end?.type === 'message.read' ? 'read' : 'delivered' }
}
