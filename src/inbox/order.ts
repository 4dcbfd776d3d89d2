/**
 * The order of one message's reports. Contract, "Delivery rules": by `timestamp`, not by arrival.
 *
 * Timestamps have whole seconds, so ties are usual: the lifecycle breaks them, and then the identity, never the arrival.
 * Chat-app callbacks carry no time of the event, so for them the lifecycle comes first.
 */
import type { Failure, ReportType, TimestampSource } from '../events.ts'
import type { ReportShape } from '../report-payloads.ts'

/** A message's life, as far as the order knows it. */
export const STAGES = { queued: 0, sent: 1, failedForNow: 2, final: 3, read: 4 } as const

/** The place in the lifecycle: queued < sent < failed (transient) < delivered, failed (for good) < read. */
export function stageOf(type: ReportType, failure: Failure | undefined): number {
  switch (type) {
    case 'message.queued':
      return STAGES.queued
    case 'message.sent':
      return STAGES.sent
    case 'message.delivered':
      return STAGES.final
    case 'message.read':
      return STAGES.read
    case 'message.failed':
      return failure?.kind === 'transient' ? STAGES.failedForNow : STAGES.final
  }
}

/** A text that sorts as the reports of one message do, byte by byte, in any language and database. */
export function orderKey(report: {
  readonly shape: ReportShape
  readonly stage: number
  readonly timestamp: number
  readonly timestampSource: TimestampSource
  readonly id: string
}): string {
  const { stage, id } = report
  // Joined, not added up: an added text keeps its parts for as long as a store keeps it.
  if (report.shape === 'sms') return [padded(report.timestamp), stage, NO_TIME, id].join('')
  // A time of arrival would let the arrival decide after all.
  return [NO_TIME, stage, report.timestampSource === 'arrival' ? NO_TIME : padded(report.timestamp), id].join('')
}

const SECONDS_DIGITS = 12
const NO_TIME = '0'.repeat(SECONDS_DIGITS)

function padded(seconds: number): string {
  return String(seconds).padStart(SECONDS_DIGITS, '0')
}

/** Steps of the chat-app's chain, which alone has gaps: `delivered` waits for `sent`, `read` for `delivered`. */
const CHAIN = { sent: 1, delivered: 2, read: 4 } as const

/** The step of the chain that a report is, and the one that it waits for; 0 for neither. */
export function chainOf(shape: ReportShape, type: ReportType): { readonly step: number; readonly awaits: number } {
  if (shape === 'chat-app') {
    if (type === 'message.sent') return { step: CHAIN.sent, awaits: 0 }
    if (type === 'message.delivered') return { step: CHAIN.delivered, awaits: CHAIN.sent }
    if (type === 'message.read') return { step: CHAIN.read, awaits: CHAIN.delivered }
  }
  return { step: 0, awaits: 0 }
}

/** Whether a later report was handed over already. Of two final ones neither is late. */
export function isLate(
  event: { readonly order: string; readonly final: boolean },
  { handed, handedOpen }: { readonly handed: string; readonly handedOpen: string },
): boolean {
  return event.order !== '' && event.order < (event.final ? handedOpen : handed)
}
