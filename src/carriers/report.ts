/** A report: from a parsed body to its fields, whatever their shape, and from a sender's word or code to one meaning on any channel. */
import {
  CARRIERS,
  type CallbackKind,
  type Carrier,
  type Failure,
  type Oddity,
  type Problem,
  type ReportType,
  type StatusCode,
} from '../public/events.ts'
import type { ReportShape } from '../public/report-payloads.ts'
import type { Meaning } from './meaning.ts'
import { chatAppDeliverySchema, smsDeliverySchema } from './report-schemas.ts'
import { ROW_BY_CODE, ROW_BY_WORD } from './status-codes.ts'
import { CARRIER_WORD, VOCABULARIES } from './vocabularies.ts'

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
  const isExact = exact && isExactText(status)
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
    oddities: isExact && oddity === undefined ? NONE_ODD : odditiesOf(isExact, oddity),
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
  const isExact = exact && isExactText(status)
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
    oddities: isExact && oddity === undefined ? NONE_ODD : odditiesOf(isExact, oddity),
  }
}

const NONE_ODD: readonly Oddity[] = []

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

/** What is known of a status before it is translated. */
export interface StatusInput {
  /** `chat-app` for the callback with a `statuses` object, else `sms`: the words differ. Default: `sms`. */
  readonly shape?: ReportShape
  /** The sender's word; may be missing where there is a code. */
  readonly status?: string | undefined
  /** A code of the contract's table; anything else is passed over. */
  readonly statusCode?: number | undefined
  /** Whose words they are, where that is known; otherwise the word itself tells. */
  readonly carrier?: Carrier | undefined
  /** The carrier's or provider's own words about a failure. */
  readonly reason?: string | undefined
  /** The carrier's own code of a failure. */
  readonly reasonCode?: string | undefined
}

/** A number in place of a word. */
const CODE = /^\d{1,15}$/

/** One vocabulary for every channel. */
export interface NormalisedStatus {
  readonly type: ReportType
  readonly carrier?: Carrier
  readonly statusCode?: StatusCode
  /** For `message.queued`: planned for later. */
  readonly scheduled?: boolean
  /** For `message.failed`. */
  readonly failure?: Failure
}

/**
 * Translates a status. Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback, #states-and-transitions.
 *
 * - Carrier A: its five words and its numbers; then the words and codes of the code table; else undefined.
 * - Carrier B: `delivered` and `failed`; every other word is its own, so that it is read by its code, else as a permanent
 *   failure.
 * - A network that nobody named: a word or number of either carrier tells whose it is; then any word of a table; then the
 *   code; else the word is a carrier's own, and a permanent failure.
 * - A chat-app: its four words, then the code table; else undefined.
 */
export function normaliseStatus(input: StatusInput): NormalisedStatus | undefined {
  const { shape = 'sms', status = '' } = input
  const carrier = shape === 'sms' ? (input.carrier ?? carrierByWord(status)) : undefined
  const codeRow = ROW_BY_CODE.get(input.statusCode)
  const wordRow = ROW_BY_WORD.get(status)
  const meaning =
    meaningOfWord(shape, status, carrier, wordRow) ?? codeRow ?? meaningOfUnknown(shape, status, input.carrier)
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
  // What an open list does not have is the carrier's own word, even where the code table has the same one.
  return meaning ?? (isOpen ? undefined : wordRow)
}

/** No two carriers share a word, so one of theirs tells who is speaking; so does a number, where one carrier has numbers. */
function carrierByWord(word: string): Carrier | undefined {
  return CARRIERS.find((carrier) => {
    const { words, wordForCode } = VOCABULARIES[carrier]
    return words.has(word) || (wordForCode !== undefined && CODE.test(word))
  })
}

/** Whoever has a closed list says nothing else; another's new word is a carrier's own. */
function meaningOfUnknown(shape: ReportShape, word: string, carrier: Carrier | undefined): Meaning | undefined {
  if (shape === 'chat-app' || word === '') return undefined
  if (carrier === undefined) return word.trim() === '' ? undefined : CARRIER_WORD
  return VOCABULARIES[carrier].isOpen ? CARRIER_WORD : undefined
}

function explained(failure: Failure, { status, reason, reasonCode }: StatusInput): Failure {
  const code = reasonCode === '' ? undefined : reasonCode
  const words = reason === '' ? undefined : reason
  const said = words ?? code ?? (failure.cause === 'carrier_word' ? status : undefined)
  if (said === undefined) return failure
  return { ...failure, reason: said, ...(code === undefined ? undefined : { code }) }
}
