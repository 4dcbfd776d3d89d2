/** Dispatch times and final states: plays every sequence against a receiver whose clock stands still. */
import type { ReportEvent, WebhookEvent } from 'messaging-webhooks'
import type { ReportState } from '../../src/inbox/latest.ts'
import { fakeClock } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { maskedBody, permutations, taking, vectors, type SequencesVector } from '../support/vectors.ts'

type Expected = SequencesVector['expected']

/** Tolerance for late dispatch: events released by one report may take a moment. */
const SOON_SECONDS = 0.1

test.each(vectors.sequences)('$name', async (vector) => {
  const { dispatched, states } = await play(vector)
  expect(inTime(dispatched, vector.expected.dispatched)).toEqual(vector.expected.dispatched)
  expect(states).toEqual(likeThese(vector.expected.states, states))
})

describe('the final state is the same in any order', () => {
  test.each(vectors.sequences.filter(({ expected }) => expected.anyOrder))('$name', async (vector) => {
    const ends = []
    for (const order of permutations(vector.arrivals.length)) ends.push((await play(vector, order)).states)
    const [first = []] = ends
    expect(first).toEqual(likeThese(vector.expected.states, first))
    for (const end of ends) expect(end).toEqual(first)
  })
})

test('a wrong vector fails', async () => {
  for (const vector of vectors.sequences) {
    const { dispatched, states } = await play(vector)
    const { expected } = vector
    const isWrong = (wrong: Expected['dispatched']): void => expect(inTime(dispatched, wrong)).not.toEqual(wrong)
    isWrong(expected.dispatched.map((one) => ({ ...one, late: !one.late })))
    isWrong(expected.dispatched.map((one) => ({ ...one, at: one.at + 0.01 })))
    isWrong(expected.dispatched.map((one) => ({ ...one, at: one.at - SOON_SECONDS - 0.01 })))
    isWrong(expected.dispatched.slice(1))
    const wrong = expected.states.map(({ messageId, finals }) => ({ messageId, newest: [99], finals }))
    expect(states).not.toEqual(likeThese(wrong, states))
  }
})

/** Plays the bodies in this order at the times of the arrivals; indices stay those of the vector. */
async function play(
  { gapSeconds, arrivals, expected }: SequencesVector,
  order: readonly number[] = arrivals.map((_, index) => index),
): Promise<Omit<Expected, 'anyOrder'>> {
  const clock = fakeClock(milliseconds(arrivals[0]?.at ?? 0))
  const { receiver, take } = taking({ clock, ordering: { gapTimeoutMs: gapSeconds * 1_000 } })
  const dispatched: Expected['dispatched'] = []
  const reports: { readonly arrival: number; readonly report: ReportEvent }[] = []
  const bodies = arrivals.map(maskedBody)
  receiver.onAny((event) => {
    const arrival = bodies.findIndex((body) => body.equals(event.raw))
    dispatched.push({ arrival, at: clock.now() / 1_000, late: event.type === 'late' })
    reports.push({ arrival, report: reportOf(event) })
  })
  for (const [place, { at }] of arrivals.entries()) {
    await clock.advance(milliseconds(at) - clock.now())
    const callback = arrivals[order[place] ?? place]
    if (callback !== undefined) await take(callback)
    await clock.advance(0)
  }
  await clock.advance(gapSeconds * 1_000 + 60_000)
  const arrivalOf = (state: ReportState): number =>
    reports.find(({ report }) => keyOf(report) === keyOf(state))?.arrival ?? -1
  const states: Expected['states'] = []
  for (const { messageId } of expected.states) {
    const state = await receiver.messageState(messageId)
    if (state === undefined) continue
    states.push({ messageId, newest: [arrivalOf(state)], finals: state.reports.map(arrivalOf) })
  }
  return { dispatched, states }
}

/** Replaces times within the tolerance by the expected ones: not before, and soon after. */
function inTime(actual: Expected['dispatched'], expected: Expected['dispatched']): Expected['dispatched'] {
  return actual.map((one, index) => {
    const at = expected[index]?.at ?? one.at
    return one.at >= at && one.at <= at + SOON_SECONDS ? { ...one, at } : one
  })
}

/** Where several reports may be the newest, their order is not specified: any of them is accepted. */
function likeThese(expected: Expected['states'], actual: Expected['states']): Expected['states'] {
  return expected.map((state, index) => {
    const { newest = [], finals = [] } = actual[index] ?? {}
    if (state.newest.length === 1 || !newest.every((arrival) => state.newest.includes(arrival))) return state
    const isSame = finals.toSorted().join() === state.finals.toSorted().join()
    return { ...state, newest, finals: isSame ? finals : state.finals }
  })
}

function reportOf(event: WebhookEvent): ReportEvent {
  if (event.type === 'late') return event.report
  if (!('shape' in event)) throw new Error(`${event.type} is not a report.`)
  return event
}

/** Identifies a report within a vector. */
function keyOf({ messageId, status, statusCode, timestamp, receivedAt }: ReportState | ReportEvent): string {
  return JSON.stringify([messageId, status, statusCode, timestamp, receivedAt])
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000)
}
