/** The latest state of a message, as the API returns it. */
import type { DeliveryFailure, SentDetails, TimestampSource } from '../public/events.ts'
import { sentDetails } from '../messages/expected.ts'
import { finalRecords, knownTime } from '../messages/order.ts'
import { failureOf, type EventRecord, type Report } from '../messages/event-record.ts'
import type { StoredExpectation, StoredLatest } from '../messages/views.ts'

/** The final reports of a sent message, in order. */
export function finalsOf({
  expectation,
  latest,
}: Pick<StoredExpectation, 'expectation' | 'latest'>): readonly EventRecord[] {
  return finalRecords(latest?.finals ?? [], expectation.type)
}

/** The fields that every report has: those of its event without identity, payload and bytes. */
interface StateFields extends Omit<Report, 'type' | 'scheduled' | 'failure'> {
  /** When it happened. Undefined if only the arrival is known (`timestampSource` is `arrival`). */
  readonly occurredAt: Date | undefined
  /** `occurredAt` in Unix seconds. */
  readonly timestamp: number | undefined
  readonly timestampSource: TimestampSource
  /** When the callback arrived. */
  readonly receivedAt: Date
}

/** One report in `messageState`. `type` determines the other fields, as it does for an event. */
export type ReportState = StateFields &
  (
    | { readonly type: 'message.sent' | 'message.delivered' | 'message.read' }
    | {
        readonly type: 'message.queued'
        /** True for code 14: delivery is planned for later. */
        readonly scheduled: boolean
      }
    | { readonly type: 'message.failed'; readonly failure: DeliveryFailure }
  )

/** The latest state of a message. Contract, service.md#cross-channel-mapping: keep the latest `statusCode` per `messageId`. */
export type MessageState<M = unknown> = ReportState & {
  readonly project: string | undefined
  /** Every final report, in order. The parts of a long SMS share one id, and a success must not hide a failure. */
  readonly reports: readonly ReportState[]
  /** What `receiver.sends.expect` recorded. Absent without it. */
  readonly sent?: SentDetails<M>
  /** Present if the receiver has reported the message as overdue, with a `send.overdue` event. */
  readonly wasOverdue?: true
}

export function messageState(stored: StoredLatest): MessageState | undefined {
  const newest = reportState(stored.record)
  if (newest === undefined) return undefined
  const finals = finalRecords(stored.finals, stored.expected?.expectation.type)
  const reports = finals.map(reportState).filter((state) => state !== undefined)
  const state = { ...newest, project: stored.record.project, reports }
  if (stored.expected === undefined) return state
  const { expectation, wasOverdue } = stored.expected
  return { ...state, sent: sentDetails(expectation), ...(wasOverdue ? { wasOverdue } : undefined) }
}

/** Undefined for an event that is not a report. */
export function reportState(record: EventRecord): ReportState | undefined {
  const { report, timestampSource, receivedAtMs } = record
  if (report === undefined) return undefined
  const { type, scheduled, failure: _, ...same } = report
  const timestamp = knownTime(record)
  const occurredAt = timestamp === undefined ? undefined : new Date(timestamp * 1_000)
  const state = { ...same, occurredAt, timestamp, timestampSource, receivedAt: new Date(receivedAtMs) }
  switch (type) {
    case 'message.queued':
      return { type, ...state, scheduled: scheduled ?? false }
    case 'message.failed':
      return { type, ...state, failure: failureOf(report) }
    default:
      return { type, ...state }
  }
}
