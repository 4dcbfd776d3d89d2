/**
 * Parses the recipients of an answer, with fields as strings or numbers. Contract, service.md#recipient-entry,
 * #states-and-transitions.
 */
import { isRecord } from '../runtime/values.ts'
import { comparable } from '../runtime/recipient-forms.ts'
import { STATUS_CODES } from '../carriers/status-codes.ts'
import type { AcceptedCode, Recipient, RefusedCode } from './sent.ts'

const ACCEPTED: readonly AcceptedCode[] = [11, 13, 14]
const REFUSED: readonly RefusedCode[] = [12, 22, 23]

/** A parsed object. Its fields may have any type. */
export type Fields = Readonly<Record<string, unknown>>

/** Ignores inherited properties such as `constructor`. */
export function field(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/**
 * A non-empty string, or a number as one. Undefined for a number beyond JavaScript's precision, because its digits are lost.
 */
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
  const named = new Set(Array.from(recipients.values(), (recipient) => comparable(recipient.to)))
  return [...recipients.values(), ...to.filter((number) => !named.has(comparable(number))).map(unnamed)]
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
    status: word ?? wordOf(code) ?? '',
    parts: Math.max(1, wholeField(entry, 'messagePart') ?? 1),
    type: textField(entry, 'type'),
  }
  const accepted = ACCEPTED.find((each) => each === code)
  if (accepted !== undefined) return { ...about, outcome: 'accepted', code: accepted }
  const refused = REFUSED.find((each) => each === code)
  if (refused !== undefined) return { ...about, outcome: 'refused', code: refused }
  return { ...about, outcome: 'unknown', code }
}

function wordOf(code: number | undefined): string | undefined {
  return STATUS_CODES.find((row) => row.code === code)?.word
}
