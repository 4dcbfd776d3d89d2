/**
 * The answer to a send, as plain data, and the parser of its recipients. Contract, service.md#send-a-message, #recipient-entry,
 * #states-and-transitions.
 */
import type { StatusCode } from '../public/events.ts'
import { isRecord } from '../runtime/values.ts'
import { createNumberMatch, distinctNumbers } from '../runtime/recipient-forms.ts'
import { STATUS_CODES } from '../carriers/status-codes.ts'

/** The type of a send. `transactional` is for one-time passwords and alerts; answers to other sends have `bulk`. */
export type SendType = 'transactional' | 'bulk' | (string & {})

/** Codes of accepted recipients: queued, queued at the carrier, or scheduled. */
export type AcceptedCode = Extract<StatusCode, 11 | 13 | 14>

/** Codes of refused recipients: number, balance, or volume limit. */
export type RefusedCode = Extract<StatusCode, 12 | 22 | 23>

interface RecipientFields {
  /** The id that callbacks carry. Undefined if the answer has none; then no report can be matched. */
  readonly messageId: string | undefined
  /** The number as the service writes it. Empty if the answer has none. */
  readonly to: string
  /** The service's word for the code. */
  readonly status: string
  /** Number of parts of the message. Default 1. */
  readonly parts: number
  /** The type of the send, in the service's words. */
  readonly type: string | undefined
}

/** A recipient whose message the service accepted. */
export interface AcceptedRecipient extends RecipientFields {
  readonly outcome: 'accepted'
  readonly code: AcceptedCode
}

/** A recipient to whom nothing is sent. */
export interface RefusedRecipient extends RecipientFields {
  readonly outcome: 'refused'
  readonly code: RefusedCode
}

/** A recipient with an unexpected code, or one that the answer does not name. The message may have been sent. */
export interface UnknownRecipient extends RecipientFields {
  readonly outcome: 'unknown'
  /** Undefined if it is not a whole number, or the answer does not name the recipient. */
  readonly code: number | undefined
}

/** A recipient of a send. Distinguish by `outcome` and `code`. The parts of a message are one recipient. */
export type Recipient = AcceptedRecipient | RefusedRecipient | UnknownRecipient

/** A message for which reports may arrive. */
export interface SentMessage {
  readonly messageId: string
  /** The number of the request, or the one in the answer if the request has none like it. */
  readonly to: string
}

/**
 * The answer to a send that accepted, or may have accepted, at least one recipient. It lists accepted and refused recipients.
 */
export interface Sent {
  /** `accepted` if every recipient was accepted, otherwise `partial`. If all are refused, the send rejects. */
  readonly kind: 'accepted' | 'partial'
  /** The reference under which the receiver recorded the send. Absent without a receiver. */
  readonly reference?: string
  /** Time of the request, by this machine's clock. */
  readonly sentAt: Date
  /** The sender ID of the request. Absent if it was the project's. */
  readonly from?: string
  /** The requested type, else the type in the answer; `unknown` without either. */
  readonly type: SendType
  /** The channel of the request. */
  readonly channel?: string
  /** The campaign of the request. */
  readonly campaign?: string
  /** The delivery time of the request. */
  readonly scheduledFor?: Date
  /** Number of messages that the service reports. Undefined if it reports none. */
  readonly messageCount: number | undefined
  /** Messages for which reports may arrive: each accepted one once, and those with an unknown code. */
  readonly messages: readonly SentMessage[]
  /** Every recipient in the answer, in its order, then numbers that it does not name, as `unknown`. */
  readonly recipients: readonly Recipient[]
}

const ACCEPTED: readonly AcceptedCode[] = [11, 13, 14]
const REFUSED: readonly RefusedCode[] = [12, 22, 23]

/** A parsed object. Its fields may have any type: the service writes numbers as strings, too. */
export type Fields = Readonly<Record<string, unknown>>

/** Ignores inherited properties such as `constructor`. */
export function field(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** A non-empty string, or a number as one. Undefined for a number whose digits are lost. */
export function textField(fields: Fields, name: string): string | undefined {
  const value = field(fields, name)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A whole number, or a string with one. */
export function wholeField(fields: Fields, name: string): number | undefined {
  const text = textField(fields, name)?.trim()
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/**
 * The entries of an answer, with the parts of a message merged, then the numbers that it does not name. In an answer to a send
 * to a single number, an entry need not name it.
 */
export function readRecipients(entries: readonly unknown[], to: readonly string[]): readonly Recipient[] {
  const only = to.length === 1 ? to[0] : undefined
  const recipients = new Map<string, Recipient>()
  const counts = new Map<string, number>()
  for (const [index, entry] of entries.entries()) {
    const recipient = readRecipient(isRecord(entry) ? entry : {}, only)
    const { messageId, code, to } = recipient
    // Without an id, two entries may or may not be parts of one message.
    const key = messageId === undefined ? String(index) : JSON.stringify([messageId, code, to])
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    // Parts may be numbered in any order, or not at all.
    const parts = Math.max(count, recipient.parts, recipients.get(key)?.parts ?? 1)
    recipients.set(key, { ...recipient, parts })
  }
  const match = createNumberMatch(to)
  const named = new Set(Array.from(recipients.values(), (recipient) => match(recipient.to)))
  return [
    ...recipients.values(),
    ...distinctNumbers(to)
      .filter((number) => !named.has(number))
      .map(unnamed),
  ]
}

function unnamed(to: string): Recipient {
  return { outcome: 'unknown', code: undefined, messageId: undefined, to, status: '', parts: 1, type: undefined }
}

function readRecipient(entry: Fields, only: string | undefined): Recipient {
  const word = textField(entry, 'status')
  const code = wholeField(entry, 'statusCode') ?? STATUS_CODES.find((row) => row.word === word)?.code
  const about = {
    messageId: textField(entry, 'messageId'),
    to: textField(entry, 'to') ?? only ?? '',
    status: word ?? STATUS_CODES.find((row) => row.code === code)?.word ?? '',
    parts: Math.max(1, wholeField(entry, 'messagePart') ?? 1),
    type: textField(entry, 'type'),
  }
  const accepted = ACCEPTED.find((each) => each === code)
  if (accepted !== undefined) return { ...about, outcome: 'accepted', code: accepted }
  const refused = REFUSED.find((each) => each === code)
  if (refused !== undefined) return { ...about, outcome: 'refused', code: refused }
  return { ...about, outcome: 'unknown', code }
}
