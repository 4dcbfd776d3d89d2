/** Reads a report from a parsed body of any known shape, and maps the sender's word or code to one meaning on any channel. */
import {
  CARRIERS,
  type CallbackKind,
  type Carrier,
  type DeliveryFailure,
  type CallbackAnomaly,
  type CallbackProblem,
  type ReportType,
  type StatusCode,
} from '../public/events.ts'
import type { ReportShape } from '../public/report-payloads.ts'
import { ROW_BY_CODE, ROW_BY_WORD, type Meaning, type StatusCodeRow } from './status-codes.ts'
import { chatAppDeliverySchema, smsDeliverySchema } from './report-schemas.ts'
import { CARRIER_WORD, VOCABULARIES } from './vocabularies.ts'

/** A report in the sender's words. */
export interface ReportPayload {
  readonly shape: ReportShape
  readonly messageId: string
  readonly channel: string
  readonly network: string | undefined
  readonly recipient: string | undefined
  readonly status: string
  readonly statusCode: number | undefined
  readonly reason: string | undefined
  /** The carrier's own failure code. */
  readonly reasonCode: string | undefined
  /** The payload's time in Unix seconds, if there is a plausible one. */
  readonly timestamp: number | undefined
  readonly anomalies: readonly CallbackAnomaly[]
}

type Fields = Readonly<Record<string, unknown>>

/** Reads a report, or says why the body is not one. `kind` is undefined for middleware mounted without a kind. */
export function readReport(
  fields: Fields,
  kind: Extract<CallbackKind, 'status'> | undefined,
  nowMs: number,
  bodyText: () => string,
): ReportPayload | CallbackProblem {
  if (Object.hasOwn(fields, 'statuses')) return readChatApp(fields, nowMs, bodyText)
  if (kind === undefined && !Object.hasOwn(fields, 'messageId')) return 'unknown_shape'
  return readSms(fields, nowMs, bodyText)
}

/** Reads a report with its fields at the top level. */
export function readSms(fields: Fields, nowMs: number, bodyText: () => string): ReportPayload | CallbackProblem {
  const parsed = smsDeliverySchema.safeParse(fields)
  if (!parsed.success) return 'no_message_id'
  const { messageId: id, channel = '', status = '', statusCode, network, description, status_code } = parsed.data
  if (status === '' && statusCode === undefined) return 'no_status'
  const { messageId, exact } = readId(id, 'messageId', bodyText)
  const isExact = exact && isExactText(status)
  const { seconds, anomaly } = readTimestamp(parsed.data.timestamp, nowMs)
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
    anomalies: isExact && anomaly === undefined ? NONE_ODD : anomaliesOf(isExact, anomaly),
  }
}

function readChatApp(fields: Fields, nowMs: number, bodyText: () => string): ReportPayload | CallbackProblem {
  // One callback with several states: taking the first would lose the rest.
  if (Array.isArray(fields['statuses'])) return 'several_statuses'
  const parsed = chatAppDeliverySchema.safeParse(fields)
  if (!parsed.success) return 'no_message_id'
  const { channel = '', statusCode, statuses } = parsed.data
  const { status = '' } = statuses
  if (status === '' && statusCode === undefined) return 'no_status'
  const { messageId, exact } = readId(statuses.message_id, 'message_id', bodyText)
  const isExact = exact && isExactText(status)
  const { seconds, anomaly } = readTimestamp(parsed.data.timestamp, nowMs)
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
    anomalies: isExact && anomaly === undefined ? NONE_ODD : anomaliesOf(isExact, anomaly),
  }
}

/** The message that a body names in a field that the service documents. Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback. */
export function messageNamedIn(fields: Fields, bodyText: () => string): string | undefined {
  const sms = smsDeliverySchema.safeParse(fields)
  if (sms.success) return readId(sms.data.messageId, 'messageId', bodyText).messageId
  const chatApp = chatAppDeliverySchema.safeParse(fields)
  return chatApp.success ? readId(chatApp.data.statuses.message_id, 'message_id', bodyText).messageId : undefined
}

const SMS_FIELDS: ReadonlySet<string> = new Set(['authKey', ...Object.keys(smsDeliverySchema.shape)])
const BULK_TYPE = 'bulkDelivery'

/**
 * Whether a body that reads as a report can be nothing else, at the URL of any kind. The contract does not show the fields of other
 * callbacks, so a message id and a status alone decide nothing: only `statuses`, the type of a bulk delivery, or an SMS without a
 * field that a report does not have. Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback.
 */
export function isPlainReport(fields: Fields, { shape, channel }: Pick<ReportPayload, 'shape' | 'channel'>): boolean {
  if (shape === 'chat-app' || fields['type'] === BULK_TYPE) return true
  return channel === 'sms' && Object.keys(fields).every((name) => SMS_FIELDS.has(name))
}

const NONE_ODD: readonly CallbackAnomaly[] = []

function anomaliesOf(exact: boolean, timestamp: CallbackAnomaly | undefined): readonly CallbackAnomaly[] {
  const anomalies: CallbackAnomaly[] = timestamp === undefined ? [] : [timestamp]
  if (!exact) anomalies.push('inexact_id')
  return anomalies
}

/**
 * The message id as text. Keeps text and turns a number into its digits. Beyond 2^53 a parsed number has lost digits, so those
 * are read from the body. `name` is the field name there. `exact` is false if two ids could look the same; the digest of the
 * body then becomes part of the identity.
 */
function readId(id: string | number, name: string, bodyText: () => string) {
  if (typeof id === 'string') return { messageId: id, exact: isExactText(id) }
  if (Number.isSafeInteger(id)) return { messageId: String(id), exact: true }
  const digits = sourceOf(bodyText(), name, id)
  return digits === undefined ? { messageId: String(id), exact: false } : { messageId: digits, exact: true }
}

/** The number as written in the body. Undefined if several fields of that name look the same. */
function sourceOf(text: string, name: string, id: number): string | undefined {
  const sources = new Set<string | undefined>()
  JSON.parse(text, (key: string, value: unknown, context?: { readonly source?: string }) => {
    if (key === name && value === id) sources.add(context?.source)
    return value
  })
  const [source] = sources
  return sources.size === 1 ? source : undefined
}

/** Invalid UTF-8 shows as U+FFFD, and a lone surrogate becomes one when a store writes it. */
export function isExactText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\uFFFD')
}

/** 2000-01-01. The service is younger, and an implausible time must not decide the order of a message. */
const EARLIEST_SECONDS = 946_684_800
const LATEST_AHEAD_SECONDS = 86_400

/**
 * The `timestamp` of a payload: whole Unix seconds, as a number or as decimal digits. An implausible value stays in the payload
 * but is not used. Contract, service.md#sms-delivery-callback, #delivery-rules.
 */
export function readTimestamp(
  value: unknown,
  nowMs: number,
): { readonly seconds?: number; readonly anomaly?: CallbackAnomaly } {
  if (value === undefined) return {}
  const seconds = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof seconds !== 'number' || !Number.isInteger(seconds)) return { anomaly: 'timestamp_unreadable' }
  const latest = nowMs / 1_000 + LATEST_AHEAD_SECONDS
  if (seconds >= EARLIEST_SECONDS && seconds <= latest) return { seconds }
  const isInMs = seconds / 1_000 >= EARLIEST_SECONDS && seconds / 1_000 <= latest
  return { anomaly: isInMs ? 'timestamp_in_milliseconds' : 'timestamp_out_of_range' }
}

/** The input of the status mapping. */
export interface StatusInput {
  /** `chat-app` for the callback with a `statuses` object, otherwise `sms`: their words differ. Default: `sms`. */
  readonly shape?: ReportShape
  /** The sender's word. May be missing if there is a code. */
  readonly status?: string | undefined
  /** A code of the contract's table. Other codes are ignored. */
  readonly statusCode?: number | undefined
  /** The carrier of the word, if known. Otherwise the word itself identifies it. */
  readonly carrier?: Carrier | undefined
  /** The failure reason in the carrier's or provider's own words. */
  readonly reason?: string | undefined
  /** The carrier's own failure code. */
  readonly reasonCode?: string | undefined
}

/** A number in place of a word. */
const CODE = /^\d{1,15}$/

/** The common vocabulary for all channels. */
export interface NormalisedStatus {
  readonly type: ReportType
  readonly carrier?: Carrier
  readonly statusCode?: StatusCode
  /** For `message.queued`: scheduled for later. */
  readonly scheduled?: boolean
  /** For `message.failed`. */
  readonly failure?: DeliveryFailure
}

/**
 * Maps a status. Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback, #states-and-transitions.
 *
 * - A number of the code table is that code, except where the network is carrier A's and no equal `statusCode` confirms it.
 * - Carrier A: its five words and its numbers, then the words and codes of the code table; otherwise undefined.
 * - Carrier B: `delivered` and `failed`; any other word is the carrier's own: its code decides, otherwise a permanent failure.
 * - Unknown network: a word or number of a known carrier identifies it; then any word of a table; then the code; otherwise the
 *   word is a carrier's own, and a permanent failure.
 * - Chat-app: its four words, then the code table; otherwise undefined.
 */
export function normaliseStatus(input: StatusInput): NormalisedStatus | undefined {
  const { shape = 'sms', status = '' } = input
  const numberRow = rowOfNumber(input)
  const carrier = shape === 'chat-app' ? undefined : (input.carrier ?? (numberRow ? undefined : carrierByWord(status)))
  const codeRow = ROW_BY_CODE.get(input.statusCode)
  const wordRow = numberRow ?? ROW_BY_WORD.get(status)
  const meaning =
    numberRow ??
    meaningOfWord(shape, status, carrier, wordRow) ??
    codeRow ??
    meaningOfUnknown(shape, status, input.carrier)
  if (meaning === undefined) return undefined
  const statusCode = meaning === wordRow ? wordRow.code : codeRow?.code
  return {
    type: meaning.type,
    ...(carrier === undefined ? undefined : { carrier }),
    ...(statusCode === undefined ? undefined : { statusCode }),
    ...(meaning.scheduled === undefined ? undefined : { scheduled: meaning.scheduled }),
    ...(meaning.failure === undefined ? undefined : { failure: explained(meaning.failure, input) }),
  }
}

/**
 * Whether the meaning of an SMS word depends on its unknown carrier: no carrier has claimed it, and no code confirms it. Carrier
 * B forwards its own words, also those that the code table has.
 */
export function isWordGuessed(
  { shape = 'sms', status = '', statusCode }: StatusInput,
  read: NormalisedStatus,
): boolean {
  if (shape !== 'sms' || status === '' || read.carrier !== undefined) return false
  return read.statusCode === undefined || read.statusCode !== statusCode
}

/**
 * The row of a code in place of a word. The service maps carrier A's numbers to words itself, so the numbers of its own table are
 * the only ones that it documents for a callback. Contract, service.md#carrier-a-status-values, #states-and-transitions.
 */
function rowOfNumber({ status = '', statusCode, carrier }: StatusInput): StatusCodeRow | undefined {
  const code = CODE.test(status) ? Number(status) : undefined
  return carrier === 'carrierA' && code !== statusCode ? undefined : ROW_BY_CODE.get(code)
}

/** Whether a status was read as a number of carrier A, which the service does not document for callbacks. */
export function isCarrierNumber(status: string, { carrier, statusCode }: NormalisedStatus): boolean {
  return carrier === 'carrierA' && CODE.test(status) && Number(status) !== statusCode
}

function meaningOfWord(
  shape: ReportShape,
  word: string,
  carrier: Carrier | undefined,
  wordRow: Meaning | undefined,
): Meaning | undefined {
  const { words: ofChatApp } = VOCABULARIES.chatApp
  if (shape === 'chat-app') return ofChatApp.get(word) ?? wordRow
  if (carrier === undefined) return wordRow ?? ofChatApp.get(word)
  const { words, isOpen, wordForCode } = VOCABULARIES[carrier]
  const meaning = words.get(wordForCode !== undefined && CODE.test(word) ? wordForCode(Number(word)) : word)
  // A word outside an open list is the carrier's own, even if the code table has the same word.
  return meaning ?? (isOpen ? undefined : wordRow)
}

/** A word or a number that only one carrier has identifies the carrier. */
function carrierByWord(word: string): Carrier | undefined {
  const [carrier, ...others] = CARRIERS.filter((each) => {
    const { words, wordForCode } = VOCABULARIES[each]
    return words.has(word) || (wordForCode !== undefined && CODE.test(word))
  })
  return others.length === 0 ? carrier : undefined
}

/** Only a carrier with an open list may use other words. */
function meaningOfUnknown(shape: ReportShape, word: string, carrier: Carrier | undefined): Meaning | undefined {
  if (shape === 'chat-app' || word === '') return undefined
  if (carrier === undefined) return word.trim() === '' ? undefined : CARRIER_WORD
  return VOCABULARIES[carrier].isOpen ? CARRIER_WORD : undefined
}

function explained(failure: DeliveryFailure, { status, reason, reasonCode }: StatusInput): DeliveryFailure {
  const code = reasonCode === '' ? undefined : reasonCode
  const words = reason === '' ? undefined : reason
  const stated = words ?? code ?? (failure.cause === 'carrier_word' ? status : undefined)
  if (stated === undefined) return failure
  return { ...failure, reason: stated, ...(code === undefined ? undefined : { code }) }
}
