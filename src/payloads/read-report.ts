/** From a parsed body to the fields of a delivery report, whatever its shape. */
import type { CallbackKind, Oddity, Problem } from '../events.ts'
import type { ReportShape } from '../report-payloads.ts'
import { chatAppDeliverySchema } from './chat-app-delivery.ts'
import { isExactText, readId, type ReadId } from './message-id.ts'
import { smsDeliverySchema } from './sms-delivery.ts'
import { readTimestamp } from './timestamp.ts'

/** A report in the sender's own words. */
export interface ReportPayload {
  readonly shape: ReportShape
  readonly messageId: string
  readonly channel: string
  readonly network: string | undefined
  readonly recipient: string | undefined
  readonly status: string
  readonly statusCode: number | undefined
  readonly reason: string | undefined
  /** The carrier's own code of a failure. */
  readonly reasonCode: string | undefined
  /** The payload's own time in Unix seconds, where it has one that can be trusted. */
  readonly timestamp: number | undefined
  readonly oddities: readonly Oddity[]
}

type Fields = Readonly<Record<string, unknown>>

/** Reads a report, or says why it is none. `kind` is undefined for a middleware that was mounted without one. */
export function readReport(
  fields: Fields,
  kind: Extract<CallbackKind, 'status'> | undefined,
  nowMs: number,
  bodyText: () => string,
): ReportPayload | Problem {
  if (Object.hasOwn(fields, 'statuses')) return readChatApp(fields, nowMs, bodyText)
  if (kind === undefined && !Object.hasOwn(fields, 'messageId')) return 'unknown_shape'
  return readSms(fields, nowMs, bodyText)
}

function readSms(fields: Fields, nowMs: number, bodyText: () => string): ReportPayload | Problem {
  const parsed = smsDeliverySchema.safeParse(fields)
  if (!parsed.success) return 'no_message_id'
  const { messageId: id, channel = '', status = '', statusCode, network, description, status_code } = parsed.data
  if (status === '' && statusCode === undefined) return 'no_status'
  const { messageId, exact } = readExactly(readId(id, 'messageId', bodyText), status)
  const { seconds, oddity } = readTimestamp(parsed.data.timestamp, nowMs)
  return {
    shape: 'sms',
    messageId,
    channel,
    network,
    recipient: undefined,
    status,
    statusCode,
    reason: description,
    reasonCode: status_code,
    timestamp: seconds,
    oddities: odditiesOf(exact, oddity),
  }
}

function readChatApp(fields: Fields, nowMs: number, bodyText: () => string): ReportPayload | Problem {
  // One callback with several states: taking the first would drop the rest.
  if (Array.isArray(fields['statuses'])) return 'several_statuses'
  const parsed = chatAppDeliverySchema.safeParse(fields)
  if (!parsed.success) return 'no_message_id'
  const { channel = '', statusCode, statuses } = parsed.data
  const { status = '' } = statuses
  if (status === '' && statusCode === undefined) return 'no_status'
  const { messageId, exact } = readExactly(readId(statuses.message_id, 'message_id', bodyText), status)
  const { seconds, oddity } = readTimestamp(parsed.data.timestamp, nowMs)
  return {
    shape: 'chat-app',
    messageId,
    channel,
    network: undefined,
    recipient: statuses.recipient,
    status,
    statusCode,
    reason: statuses.error,
    reasonCode: undefined,
    timestamp: seconds,
    oddities: odditiesOf(exact, oddity),
  }
}

function readExactly({ messageId, exact }: ReadId, status: string): ReadId {
  return { messageId, exact: exact && isExactText(status) }
}

export function odditiesOf(exact: boolean, timestamp: Oddity | undefined): readonly Oddity[] {
  const oddities: Oddity[] = timestamp === undefined ? [] : [timestamp]
  if (!exact) oddities.push('inexact_id')
  return oddities
}
