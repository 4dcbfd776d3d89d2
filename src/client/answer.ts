/** Parses an answer: recipients, or one of the error envelopes. Contract, service.md#send-failures. */
import { createNumberMatch } from '../runtime/recipient-forms.ts'
import { isRecord, parsedJson } from '../runtime/values.ts'
import { STATUS_CODES } from '../carriers/status-codes.ts'
import type { SendErrorCode } from '../public/error-table.ts'
import { recipientsOf, type Outgoing } from './message.ts'
import { field, readRecipients, textField, wholeField, type Fields, type Recipient, type Sent } from './sent.ts'
import type { Envelope, SendFailure } from './send-error.ts'

/** An answer that accepts no recipients. Its texts are the service's own, and not masked. */
export interface NotAccepted extends Omit<SendFailure, 'attempts' | 'recipients' | 'sentAt'> {
  readonly code: SendErrorCode
}

/** Parses the answer to a send. Its form takes precedence over its HTTP status, which the contract mostly does not show. */
export function readAnswer(
  { status, text }: { readonly status: number; readonly text: string },
  outgoing: Outgoing,
  sentAtMs: number,
): { readonly sent: Sent } | NotAccepted {
  // The redirect may follow a processed request (303), or come from a proxy before it.
  if (status >= 300 && status < 400) return unreadable(status, 'The answer is a redirect.')
  const body = parsedJson(text, keepDigits)
  if (!isRecord(body))
    return status === 401 ? unauthenticated() : unreadable(status, 'The answer is not a JSON object.')
  const wrapper = wrapperOf(body)
  const given = field(body, 'recipients') ?? field(wrapper, 'recipients')
  const entries: readonly unknown[] = Array.isArray(given) ? given : []
  const isSuccess = status >= 200 && status < 300
  const messageCount = wholeField(wrapper, 'messages')
  const isEmptySuccess = isSuccess && Array.isArray(given) && messageCount === 0
  if (entries.length > 0 || isEmptySuccess) {
    const sent = sentOf(
      outgoing,
      sentAtMs,
      messageCount,
      entries.length === 0 ? [] : readRecipients(entries, recipientsOf(outgoing)),
    )
    return sent.recipients.every(({ outcome }) => outcome === 'refused') ? refusedAll(sent, body) : { sent }
  }
  const read = envelopeOf(body)
  if (read === undefined)
    return status === 401
      ? unauthenticated()
      : unreadable(status, 'The answer has neither recipients nor a known envelope.')
  return refusalOf(status, body, read)
}

/**
 * Keeps a whole number as text if JavaScript would round it, such as a long message id; a report has the same digits. A runtime
 * that does not pass `source` leaves the number.
 */
function keepDigits(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? (context?.source ?? value) : value
}

function sentOf(
  outgoing: Outgoing,
  sentAtMs: number,
  messageCount: number | undefined,
  recipients: readonly Recipient[],
): Sent {
  const { from, channel, campaign, scheduledFor } = outgoing
  const type = outgoing.type ?? recipients.find((recipient) => recipient.type !== undefined)?.type ?? 'unknown'
  const messages = new Map<string, string>()
  const match = createNumberMatch(recipientsOf(outgoing))
  for (const { outcome, messageId, to } of recipients)
    if (outcome !== 'refused' && messageId !== undefined && !messages.has(messageId))
      messages.set(messageId, match(to) ?? to)
  return {
    kind: recipients.every(({ outcome }) => outcome === 'accepted') ? 'accepted' : 'partial',
    sentAt: new Date(sentAtMs),
    ...(from === undefined ? undefined : { from }),
    type,
    channel,
    ...(campaign === undefined ? undefined : { campaign }),
    ...(scheduledFor === undefined ? undefined : { scheduledFor: new Date(scheduledFor) }),
    messageCount,
    messages: [...messages].map(([messageId, to]) => ({ messageId, to })),
    recipients,
  }
}

/** Also applies to an empty list of recipients. Contract, service.md#states-and-transitions: these are not sent. */
function refusedAll(answer: Sent, body: Fields): NotAccepted {
  const codes = new Set(answer.recipients.map(({ code }) => code))
  const row = codes.size === 1 ? STATUS_CODES.find(({ code }) => codes.has(code)) : undefined
  const code = REFUSALS.find((word) => word === row?.word) ?? 'refused'
  return { code, mayBeSent: false, answer, ...envelopeOf(body) }
}

const REFUSALS = ['unsupported_number', 'insufficient_balance', 'volume_limit'] as const

/** Contract: the string is the same on all channels. The text of a 401 does not matter. */
function refusalOf(
  status: number,
  body: Fields,
  { envelope, said }: Pick<SendFailure, 'envelope' | 'said'>,
): NotAccepted {
  // After a server error, part of the work may be done.
  const about = { envelope, said, mayBeSent: status >= 500 }
  const words = said?.trim().toLowerCase()
  if (status === 401 || words === 'unauthenticated.') return { ...about, code: 'unauthenticated', mayBeSent: false }
  if (words === 'error. project not found.') return { ...about, code: 'project_not_found', mayBeSent: false }
  if (words === 'error. unknown project.') return { ...about, code: 'unknown_project', mayBeSent: false }
  if (envelope === 'message, errors') return { ...about, code: 'invalid', errors: errorsOf(field(body, 'errors')) }
  if (isAbout(body, words, 22, 'insufficient balance')) return { ...about, code: 'insufficient_balance' }
  if (isAbout(body, words, 23, 'volume limit')) return { ...about, code: 'volume_limit' }
  // A 2xx answer without the contract's prefix may not be a refusal at all.
  const isError = status >= 400 || words?.startsWith('error') === true
  return { ...about, code: 'refused', mayBeSent: about.mayBeSent || !isError }
}

/** Matches the code or its word if the envelope has one, otherwise the text: for 22 the contract gives only the text. */
function isAbout(body: Fields, said: string | undefined, code: 22 | 23, words: string): boolean {
  const places = [body, wrapperOf(body)]
  const isNamed = places.some(
    (fields) =>
      wholeField(fields, 'statusCode') === code ||
      wholeField(fields, 'status') === code ||
      textField(fields, 'status') === words.replace(' ', '_'),
  )
  return isNamed || said?.replaceAll('_', ' ').includes(words) === true
}

/** The first matching envelope. Those with two fields precede those with one of the two. */
function envelopeOf(body: Fields) {
  const texts: readonly (readonly [Envelope, string | undefined])[] = [
    ['messageData.message', nested(body, 'messageData', 'message')],
    ['data.message', nested(body, 'data', 'message')],
    ['MessageData.Error', nested(body, 'MessageData', 'Error')],
    ['status, description', has(body, 'status') ? textField(body, 'description') : undefined],
    ['status, errorMessage', has(body, 'status') ? textField(body, 'errorMessage') : undefined],
    ['message, errors', isRecord(field(body, 'errors')) ? (textField(body, 'message') ?? '') : undefined],
    ['error', textField(body, 'error')],
    ['message', textField(body, 'message')],
  ]
  const found = texts.find(([, said]) => said !== undefined)
  return found === undefined ? undefined : { envelope: found[0], said: found[1] === '' ? undefined : found[1] }
}

function errorsOf(value: unknown): Readonly<Record<string, readonly string[]>> {
  const entries = Object.entries(isRecord(value) ? value : {}).map(([name, said]): [string, readonly string[]] => {
    const texts: readonly unknown[] = Array.isArray(said) ? said : [said]
    return [name, texts.filter((each) => typeof each === 'string')]
  })
  return Object.fromEntries(entries)
}

/** Contract: airtime uses `data` instead of `messageData`. */
function wrapperOf(body: Fields): Fields {
  const wrapper = field(body, 'messageData') ?? field(body, 'data')
  return isRecord(wrapper) ? wrapper : {}
}

function nested(body: Fields, outer: string, inner: string): string | undefined {
  const value = field(body, outer)
  return isRecord(value) ? textField(value, inner) : undefined
}

function has(body: Fields, name: string): boolean {
  return field(body, name) !== undefined
}

function unauthenticated(): NotAccepted {
  return { code: 'unauthenticated', mayBeSent: false }
}

/** A 4xx answer means that nothing was accepted. After any other answer, the send may have been made. */
export function unreadable(status: number, what: string): NotAccepted {
  const mayBeSent = !(status >= 400 && status < 500)
  return { code: 'unreadable', mayBeSent, detail: `The status was ${status}. ${what}` }
}
