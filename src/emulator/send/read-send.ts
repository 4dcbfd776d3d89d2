/** The fields of a send, checked. Which are required is not shown in the contract; see not-shown.ts. */
import { isListed } from '../channels.ts'
import type { NamedChannel } from '../channel-names.ts'
import { DEFAULT_TYPE, MAX_MESSAGE_CHARACTERS, MAX_RECIPIENTS, type Channel } from '../not-shown.ts'
import type { Fields } from './read-request.ts'

/** What is to be sent. */
export interface Send {
  readonly channel: Channel
  /** As it was named. */
  readonly channelName: string
  readonly from: string | undefined
  readonly to: readonly string[]
  readonly message: string
  /** Of airtime; 0 elsewhere. */
  readonly amount: number
  readonly type: string
  readonly scheduledForMs: number | undefined
}

/** What is wrong, by field. */
type FieldErrors = Readonly<Record<string, readonly string[]>>

export function readSend({ channel, name }: NamedChannel, fields: Fields): Send | { readonly errors: FieldErrors } {
  const errors = new Map<string, string[]>()
  const complain = (field: string, text: string): void => void errors.set(field, [...(errors.get(field) ?? []), text])
  const valueOf = (field: string): unknown => (Object.hasOwn(fields, field) ? fields[field] : undefined)

  function text(field: string, fallback: string | undefined): string | undefined {
    const value = valueOf(field)
    if (value === undefined || value === '') return fallback
    if (typeof value === 'string') return value
    complain(field, `The ${field} field must be a string.`)
    return fallback
  }

  function number(field: string): number | undefined {
    const value = valueOf(field)
    if (value === undefined || value === '') return undefined
    const read = typeof value === 'string' ? Number(value) : value
    if (typeof read === 'number' && Number.isFinite(read) && read >= 0) return read
    complain(field, `The ${field} field must be a number of at least 0.`)
    return undefined
  }

  const to = recipients(valueOf('to'))
  if (to === undefined) complain('to', 'The to field must be a string or a list of strings.')
  else if (to.length === 0) complain('to', 'The to field is required.')
  else if (to.length > MAX_RECIPIENTS) complain('to', `The to field may have at most ${MAX_RECIPIENTS} recipients.`)
  const message = text('message', undefined)
  const amount = number('amount')
  const seconds = number('scheduledFor')
  if (seconds !== undefined && !isListed(14, channel))
    complain('scheduledFor', 'The scheduledFor field is for SMS alone.')
  if (channel === 'airtime' && amount === undefined && !errors.has('amount'))
    complain('amount', 'The amount field is required.')
  if (channel !== 'airtime' && message === undefined && !errors.has('message'))
    complain('message', 'The message field is required.')
  if (message !== undefined && message.length > MAX_MESSAGE_CHARACTERS)
    complain('message', `The message field may have at most ${MAX_MESSAGE_CHARACTERS} characters.`)
  const from = text('from', undefined)
  const type = text('type', DEFAULT_TYPE) ?? DEFAULT_TYPE
  // The campaign is a free label: it is checked, and leads to nothing that one could see.
  text('campaign', undefined)
  if (errors.size > 0) return { errors: Object.fromEntries(errors) }
  return {
    channel,
    channelName: name,
    from,
    to: to ?? [],
    message: message ?? '',
    amount: channel === 'airtime' ? (amount ?? 0) : 0,
    type,
    scheduledForMs: seconds === undefined ? undefined : seconds * 1_000,
  }
}

/** Undefined where it is neither a string nor a list of strings. */
function recipients(value: unknown): readonly string[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value ?? '']
  const texts = list.filter((item) => typeof item === 'string')
  if (texts.length !== list.length) return undefined
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')
}
