/** From a parsed body to the fields of a delivery report, whatever its shape. */
import type { CallbackKind, Oddity, Problem } from '../events.ts'
import type { ReportShape } from '../report-payloads.ts'
import { chatAppDeliverySchema, smsDeliverySchema } from './report-schemas.ts'

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
  const { messageId, exact } = readId(id, 'messageId', bodyText)
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
    oddities: odditiesOf(exact && isExactText(status), oddity),
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
  const { messageId, exact } = readId(statuses.message_id, 'message_id', bodyText)
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
    oddities: odditiesOf(exact && isExactText(status), oddity),
  }
}

export function odditiesOf(exact: boolean, timestamp: Oddity | undefined): readonly Oddity[] {
  const oddities: Oddity[] = timestamp === undefined ? [] : [timestamp]
  if (!exact) oddities.push('inexact_id')
  return oddities
}

/** A message id as text. `exact` is false where two ids could look the same: the body's digest joins the identity then. */
interface ReadId {
  readonly messageId: string
  readonly exact: boolean
}

/**
 * Text stays as it is, and a number becomes its digits. Beyond 2^53 a parsed number has lost some of them: there the text
 * of the body is asked. `name` is the field's name in the body.
 */
function readId(id: string | number, name: string, bodyText: () => string): ReadId {
  if (typeof id === 'string') return { messageId: id, exact: isExactText(id) }
  if (Number.isSafeInteger(id)) return { messageId: String(id), exact: true }
  const digits = sourceOf(bodyText(), name, id)
  return digits === undefined ? { messageId: String(id), exact: false } : { messageId: digits, exact: true }
}

/** The number as it is written in the body; undefined where several of that name look the same here. */
function sourceOf(text: string, name: string, id: number): string | undefined {
  const sources = new Set<string | undefined>()
  JSON.parse(text, (key: string, value: unknown, context?: { readonly source?: string }) => {
    if (key === name && value === id) sources.add(context?.source)
    return value
  })
  const [source] = sources
  return sources.size === 1 ? source : undefined
}

/** Bytes that were no UTF-8 show as U+FFFD; a lone surrogate becomes one as soon as a store writes it. */
export function isExactText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\uFFFD')
}

/** 2000-01-01. Nothing of this service is older, and a wild value must not decide the order of a message for ever. */
const EARLIEST_SECONDS = 946_684_800
const LATEST_AHEAD_SECONDS = 86_400

interface ReadTimestamp {
  /** Present where it can be trusted for order. */
  readonly seconds?: number
  readonly oddity?: Oddity
}

/**
 * The `timestamp` of a payload: whole Unix seconds, as a number or as decimal digits. What is out of range is kept in the
 * payload, and not used. Contract, service.md#sms-delivery-callback, #delivery-rules.
 */
export function readTimestamp(value: unknown, nowMs: number): ReadTimestamp {
  if (value === undefined) return {}
  const seconds = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof seconds !== 'number' || !Number.isInteger(seconds)) return { oddity: 'timestamp_unreadable' }
  const latest = nowMs / 1_000 + LATEST_AHEAD_SECONDS
  if (seconds >= EARLIEST_SECONDS && seconds <= latest) return { seconds }
  const isInMs = seconds / 1_000 >= EARLIEST_SECONDS && seconds / 1_000 <= latest
  return { oddity: isInMs ? 'timestamp_in_milliseconds' : 'timestamp_out_of_range' }
}
