/** The newest state of a message: a merge that never goes back, whatever the order of arrival. */
import type { Failure, SentDetails, TimestampSource } from '../events.ts'
import { sentDetails } from './expected.ts'
import { identityIn, knownTime } from './order.ts'
import { failureOf, type EventRecord, type Report } from './record.ts'
import type { StoredLatest } from './store.ts'

/** More final reports than this are not kept for one message; the newest stay. */
export const MOST_FINALS = 64

export interface FinalReport {
  readonly order: string
  readonly record: EventRecord
}

export interface MessageLatest {
  readonly order: string
  readonly record: EventRecord
  /** Sorted by order, without repetition. */
  readonly finals: readonly FinalReport[]
}

/**
 * Joins one report into the state. Commutative, idempotent and monotone: the record with the greatest order wins, and
 * the finals are a set. An order key holds the identity, so equal keys are the same report.
 */
export function mergeLatest(
  current: MessageLatest | undefined,
  report: { readonly order: string; readonly final: boolean; readonly record: EventRecord },
): MessageLatest {
  const { order, record } = report
  const newest = current === undefined || current.order < order ? report : current
  let finals = current?.finals ?? NO_FINALS
  if (report.final && !finals.some((known) => known.order === order))
    finals = [...finals, { order, record }].sort((a, b) => (a.order < b.order ? -1 : 1)).slice(-MOST_FINALS)
  return { order: newest.order, record: newest.record, finals }
}

const NO_FINALS: readonly FinalReport[] = []

/** Whether no end of a message was reported: neither a final report nor that it was read. */
export function isOpen(latest: StoredLatest | undefined): boolean {
  return latest === undefined || (latest.finals.length === 0 && latest.record.report?.type !== 'message.read')
}

/** Every report in it, those that are newest and final twice. */
export function reportsIn(latest: MessageLatest | undefined): readonly FinalReport[] {
  return latest === undefined ? NO_FINALS : [latest, ...latest.finals]
}

/**
 * The state without these reports, where they are forgotten: the newest is then the newest final one that is left. The same
 * object where none of them is in it.
 */
export function withoutReports(
  latest: MessageLatest | undefined,
  isForgotten: (id: string) => boolean,
): MessageLatest | undefined {
  if (latest === undefined) return undefined
  const isLeft = ({ order }: { readonly order: string }): boolean => !isForgotten(identityIn(order))
  const finals = latest.finals.filter(isLeft)
  if (finals.length === latest.finals.length && isLeft(latest)) return latest
  const newest = isLeft(latest) ? latest : finals.at(-1)
  return newest && { order: newest.order, record: newest.record, finals }
}

/** What the states of all types have: the fields of the report's event, but for its identity, payload and bytes. */
interface StateFields extends Omit<Report, 'type' | 'scheduled' | 'failure'> {
  /** When it happened; undefined where nothing tells, so that `timestampSource` is `arrival`. */
  readonly occurredAt: Date | undefined
  /** The same in Unix seconds. */
  readonly timestamp: number | undefined
  readonly timestampSource: TimestampSource
  /** When its callback came. */
  readonly receivedAt: Date
}

/** One report, as `messageState` shows it; `type` tells what else it has, as that of an event does. */
export type ReportState = StateFields &
  (
    | { readonly type: 'message.sent' | 'message.delivered' | 'message.read' }
    | {
        readonly type: 'message.queued'
        /** True for code 14: delivery is planned for later. */
        readonly scheduled: boolean
      }
    | { readonly type: 'message.failed'; readonly failure: Failure }
  )

/** The newest state of a message. Contract, service.md#cross-channel-mapping: keep the latest `statusCode` per `messageId`. */
export type MessageState = ReportState & {
  readonly project: string | undefined
  /** Every final report, in order: the parts of a long SMS share one id, and a success hides no failure. */
  readonly reports: readonly ReportState[]
  /** What `receiver.expect` was told of it; absent where it was told nothing. */
  readonly sent?: SentDetails
  /** `message.overdue` was made of it. */
  readonly wasOverdue?: true
}

/** What a store keeps, as users see it. */
export function messageState(stored: StoredLatest): MessageState | undefined {
  const newest = reportState(stored.record)
  if (newest === undefined) return undefined
  const reports = stored.finals.map(reportState).filter((state) => state !== undefined)
  const state = { ...newest, project: stored.record.project, reports }
  if (stored.expected === undefined) return state
  const { expectation, wasOverdue } = stored.expected
  return { ...state, sent: sentDetails(expectation), ...(wasOverdue ? { wasOverdue } : undefined) }
}

/** One report as users see it; undefined for an event that is none. */
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
