/**
 * The order of one message's reports. Contract, service.md#delivery-rules: by `timestamp`, not by arrival.
 *
 * Timestamps have whole seconds, so ties are usual: the lifecycle breaks them, and then the identity, never the arrival.
 * Chat-app callbacks carry no time of the event, so for them the lifecycle comes first.
 */
import type { ReportType } from '../events.ts'
import type { EventRecord, Report } from './record.ts'
import type { NewEvent } from './store.ts'

const FAILED_FOR_NOW = 2
const FINAL = 3

/** Steps of the chat-app's chain, which alone has gaps: `delivered` waits for `sent`, `read` for `delivered`. */
const CHAIN = { none: 0, sent: 1, delivered: 2, read: 4 } as const

/** The step that is no report: somebody has said that the message was sent. What overtakes that may wait for it. */
export const EXPECTED = 8

interface LifeStage {
  /** queued < sent < failed (transient) < delivered, failed (for good) < read */
  readonly stage: number
  readonly step: number
  readonly awaits: number
}

/** A message's life, as far as the order knows it. */
const LIFE: Readonly<Record<ReportType, LifeStage>> = {
  'message.queued': { stage: 0, step: CHAIN.none, awaits: CHAIN.none },
  'message.sent': { stage: 1, step: CHAIN.sent, awaits: CHAIN.none },
  'message.delivered': { stage: FINAL, step: CHAIN.delivered, awaits: CHAIN.sent },
  'message.failed': { stage: FINAL, step: CHAIN.none, awaits: CHAIN.none },
  'message.read': { stage: 4, step: CHAIN.read, awaits: CHAIN.delivered },
}

const SECONDS_DIGITS = 12
const NO_TIME = '0'.repeat(SECONDS_DIGITS)

/** Where a report stands among those of its message. `order` sorts byte by byte, in any language and database. */
export function placeOf(
  id: string,
  { shape, type, failure }: Pick<Report, 'shape' | 'type' | 'failure'>,
  { timestamp, timestampSource }: Pick<EventRecord, 'timestamp' | 'timestampSource'>,
): Pick<NewEvent, 'order' | 'final' | 'step' | 'awaits'> {
  const life = LIFE[type]
  const stage = failure?.kind === 'transient' ? FAILED_FOR_NOW : life.stage
  const final = stage === FINAL
  const seconds = String(timestamp).padStart(SECONDS_DIGITS, '0')
  // Joined, not added up: an added text keeps its parts for as long as a store keeps it.
  if (shape === 'sms') return { order: [seconds, stage, NO_TIME, id].join(''), final, step: 0, awaits: 0 }
  // A time of arrival would let the arrival decide after all.
  const order = [NO_TIME, stage, timestampSource === 'arrival' ? NO_TIME : seconds, id].join('')
  return { order, final, step: life.step, awaits: life.awaits }
}

/** Two times and a stage stand before the identity of the report. */
const BEFORE_IDENTITY = 2 * SECONDS_DIGITS + 1

/** The identity of the report that has this order. */
export function identityIn(order: string): string {
  return order.slice(BEFORE_IDENTITY)
}

/** Whether the report that has this order ends its message: delivered, failed for good, or read. */
function isEnd(order: string): boolean {
  return order.charAt(SECONDS_DIGITS) >= String(FINAL)
}

/** Whether a message has an end, as far as its latest state tells. */
export function hasEnd(latest: { readonly order: string; readonly finals: readonly unknown[] } | undefined): boolean {
  return latest !== undefined && (latest.finals.length > 0 || isEnd(latest.order))
}

/** Whether a later report was handed over already. Of two final ones neither is late. */
export function isLate(
  event: { readonly order: string; readonly final: boolean },
  { handed, handedOpen }: { readonly handed: string; readonly handedOpen: string },
): boolean {
  return event.order !== '' && event.order < (event.final ? handedOpen : handed)
}

/** When the event happened, in Unix seconds; undefined where only its arrival is known. */
export function knownTime({ timestamp, timestampSource }: EventRecord): number | undefined {
  return timestampSource === 'arrival' ? undefined : timestamp
}
