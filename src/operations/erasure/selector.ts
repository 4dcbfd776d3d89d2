/** Checks a selector of `forget` and matches events and requests against it. */
import { z } from 'zod'
import { payloadIn } from '../../messages/event-record.ts'
import { isRecord, textOf as textOfBody } from '../../runtime/values.ts'
import { checkOptions, describe, functionLike, textOf, type Given } from '../../runtime/check-options.ts'
import { OptionsError } from '../../public/errors.ts'
import { NAMELESS } from '../../messages/expected.ts'
import type { KeptEvent } from '../../messages/views.ts'
import { comparable } from '../../runtime/recipient-forms.ts'

/** The fields of one selector, without the fields of the others. */
type Only<T> = T & Readonly<Partial<Record<Exclude<SelectorName, keyof T>, undefined>>>
type SelectorName = 'messageId' | 'recipient' | 'before' | 'where' | 'project'

/** Selects what `forget` erases. Exactly one of these. */
export type ForgetSelector =
  /** The reports of one message, by the id that the service assigned. Reads no payloads. */
  | Only<{ readonly messageId: string; readonly project?: string | undefined }>
  /**
   * A person, by number or name: every message, and every other event, with this value in any field of a payload. Compares
   * numbers by their digits, without a leading `+` or `00` and without separators. Reads every payload.
   */
  | Only<{ readonly recipient: string; readonly project?: string | undefined }>
  /** Everything that arrived before this time (a `Date`, or milliseconds since 1970), settled or not. Reads every record. */
  | Only<{ readonly before: Date | number }>
  /** Every message, and every other event, with a payload for which this returns true. Reads every payload. */
  | Only<{
      /** Receives a payload without its authKey. */
      readonly where: (payload: Readonly<Record<string, unknown>>) => boolean
      readonly project?: string | undefined
    }>

const forgetOptions = {
  /** Counts the matches and removes nothing. Default false. */
  dryRun: z.boolean().default(false),
  /**
   * Overwrites free space in the files of the store at once. SQLite rewrites the whole file, and other writes wait. Default
   * true.
   */
  compact: z.boolean().default(true),
}

/** Options of `receiver.forget`. */
export interface ForgetOptions extends Given<typeof forgetOptions> {}

export const forgetOptionsSchema = z.strictObject(forgetOptions)

/** The known parts of an event or a request. */
export interface Candidate extends Pick<KeptEvent, 'record' | 'raw'> {
  /** Arrival time, if there is no record. */
  readonly atMs?: number | undefined
}

export type Wanted =
  | { readonly by: 'message'; readonly messageId: string; readonly project: string | undefined }
  /** A payload match selects the whole message; a time match selects each event alone. */
  | { readonly by: 'payload' | 'time'; readonly isMeant: (candidate: Candidate) => boolean }

const selectorSchema = z.strictObject({
  messageId: textOf('the id of a message').optional(),
  recipient: textOf('a number or a name').optional(),
  before: z
    .custom<Date | number>((value) => Number.isFinite(timeOf(value)), 'expected a Date, or milliseconds since 1970')
    .optional(),
  where: functionLike.optional(),
  project: textOf('the display name of a project').optional(),
})

const SELECTORS = ['messageId', 'recipient', 'before', 'where'] as const

/** Throws an `OptionsError` unless exactly one selector is given. */
export function checkSelector(given: ForgetSelector): Wanted {
  const { project, ...selectors } = checkOptions(selectorSchema, given, 'forget')
  const named = SELECTORS.filter((name) => selectors[name] !== undefined)
  if (named.length !== 1)
    throw new OptionsError(
      `forget: expected exactly one of ${SELECTORS.join(', ')}; got ${named.length === 0 ? 'none' : named.join(' and ')}.`,
    )
  const { messageId, recipient, before, where } = selectors
  if (messageId !== undefined) return { by: 'message', messageId, project }
  if (before !== undefined) {
    if (project !== undefined)
      throw new OptionsError(
        'forget: project is not valid with before. Remove it, or select by messageId, recipient or where.',
      )
    const beforeMs = timeOf(before)
    return { by: 'time', isMeant: ({ record, atMs }) => (record?.receivedAtMs ?? atMs ?? Infinity) < beforeMs }
  }
  const says = recipient === undefined ? sayingSo(where) : namingOne(recipient)
  return {
    by: 'payload',
    isMeant(candidate) {
      const { record, raw } = candidate
      const payload = raw === undefined ? undefined : payloadIn(raw)
      if (
        project !== undefined &&
        (record?.project ?? (isRecord(payload) ? payload['project'] : undefined)) !== project
      )
        return false
      return says(payload, record?.report?.recipient, () => (raw === undefined ? '' : textOfBody(raw)))
    },
  }
}

/** `text`: the body, if it is not a JSON object. */
type Says = (payload: unknown, recipient: string | undefined, text: () => string) => boolean

function sayingSo(where: z.output<typeof functionLike> | undefined): Says {
  // `ForgetSelector` declares this type.
  const choose = where as ((payload: Readonly<Record<string, unknown>>) => unknown) | undefined
  return (payload) => {
    const answer = isRecord(payload) ? choose?.(payload) : false
    if (typeof answer === 'boolean') return answer
    throw new OptionsError(`forget: where returned ${describe(answer)}; expected true or false.`)
  }
}

function namingOne(recipient: string): Says {
  const wanted = comparable(recipient)
  if (!/[\p{L}\p{N}]/u.test(wanted)) throw new OptionsError('forget: recipient has neither a digit nor a letter.')
  return (payload, known, text) => {
    if (known !== undefined && comparable(known) === wanted) return true
    return isRecord(payload) ? hasValue(personal(payload), wanted) : isWordOf(text(), wanted)
  }
}

/** Searches a body without known fields. The value may appear anywhere, but not inside a longer number or word. */
function isWordOf(text: string, wanted: string): boolean {
  const lower = text.normalize('NFC').toLowerCase()
  const around = /^\d+$/.test(wanted) ? /\d/ : /[\p{L}\p{N}]/u
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, at + 1))
    if (!around.test(lower.charAt(at - 1)) && !around.test(lower.charAt(at + wanted.length))) return true
  return false
}

/**
 * Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback: these fields identify no person, but their numbers
 * and times may equal a phone number by chance.
 */
const NO_PERSON: ReadonlySet<string> = new Set<string>([
  'project',
  'messageId',
  'message_id',
  'channel',
  'network',
  'status',
  'statusCode',
  'status_code',
  'type',
  'category',
  'timestamp',
  'expiration_timestamp',
  'conversation_id',
  ...NAMELESS,
])

/** Contract, service.md#chat-app-delivery-callback: `phone_number` beside `statuses` is the project's own number. */
function personal(payload: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Object.hasOwn(payload, 'statuses')) return payload
  const { phone_number: _, ...rest } = payload
  return rest
}

/** A number with separators is at most this many times as long as its digits. */
const LONGEST_FORM = 3

/** Whether the payload contains the wanted value. Not recursive, because a body may be nested to any depth. */
function hasValue(payload: unknown, wanted: string): boolean {
  const isNumber = /^\d+$/.test(wanted)
  const left: unknown[] = [payload]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value)
      // Most values have the wrong length for a number.
      const isLikely = text.length >= wanted.length && text.length <= LONGEST_FORM * wanted.length
      if ((isLikely || !isNumber) && comparable(text) === wanted) return true
    } else if (Array.isArray(value)) for (const item of value) left.push(item)
    else if (isRecord(value))
      for (const [name, item] of Object.entries(value)) if (!NO_PERSON.has(name)) left.push(item)
  }
  return false
}

function timeOf(value: unknown): number {
  return typeof value === 'number' ? value : value instanceof Date ? value.getTime() : Number.NaN
}
