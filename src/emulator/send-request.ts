/** Reads a send: fields and credentials from the header, query or body, then checks the fields. */
import { isListed, type NamedChannel } from './channels.ts'
import { isRecord } from '../runtime/values.ts'
import { bearerOf, readBody, recordIn, type MaybeParsed } from './http.ts'
import { DEFAULT_TYPE, MAX_MESSAGE_CHARACTERS, MAX_RECIPIENTS } from './not-shown.ts'

/** Fields by name. A repeated field is a list. */
export type Fields = Readonly<Record<string, unknown>>

export type SendRequest = Awaited<ReturnType<typeof readRequest>>

/**
 * The fields, or why there are none, and the API key of the header or of the fields. Contract, service.md#authentication: GET has
 * everything in the query, POST in the body, JSON or a form; the Bearer header works for both.
 */
export async function readRequest(request: MaybeParsed) {
  const { method, url = '/' } = request
  const query = (): URLSearchParams => URL.parse(url, 'http://localhost')?.searchParams ?? new URLSearchParams()
  const fields = method === 'GET' ? fieldsOf(query()) : await bodyFields(request)
  const apiKey = typeof fields === 'string' ? undefined : fieldOf(fields, 'apiKey')
  const own = typeof apiKey === 'string' && apiKey !== '' ? apiKey : undefined
  return { fields, apiKey: bearerOf(request) ?? own }
}

/** Ignores inherited properties. */
export function fieldOf(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** `aborted`: the client disconnected. */
async function bodyFields(request: MaybeParsed): Promise<Fields | 'unreadable' | 'too large' | 'aborted'> {
  try {
    const read = await readBody(request)
    if ('text' in read && /^\s*application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? ''))
      return fieldsOf(new URLSearchParams(read.text))
    return recordIn(read) ?? 'unreadable'
  } catch (error) {
    return isRecord(error) && error['type'] === 'entity.too.large' ? 'too large' : 'aborted'
  }
}

/** A repeated parameter is a list. */
function fieldsOf(parameters: URLSearchParams): Fields {
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => {
      const [value, ...more] = parameters.getAll(name)
      return [name, more.length === 0 ? value : [value, ...more]]
    }),
  )
}

export type Send = Exclude<ReturnType<typeof readSend>, { readonly errors: object }>

/** The contract does not show which fields are required; see not-shown.ts. */
export function readSend({ channel, name }: NamedChannel, fields: Fields) {
  const errors: Record<string, string[]> = {}

  /** Undefined if the field is absent or empty. */
  function given(field: string): unknown {
    const value = fieldOf(fields, field)
    return value === '' ? undefined : value
  }

  function check(field: string, isRight: boolean, text: string): void {
    if (!isRight) (errors[field] ??= []).push(`The ${field} field ${text}`)
  }

  function text(field: string): string | undefined {
    const value = given(field)
    check(field, value === undefined || typeof value === 'string', 'must be a string.')
    return typeof value === 'string' ? value : undefined
  }

  function number(field: string): number | undefined {
    const value = given(field)
    const read = typeof value === 'string' ? Number(value) : value
    const isRight = typeof read === 'number' && Number.isFinite(read) && read >= 0
    check(field, read === undefined || isRight, 'must be a number of at least 0.')
    return isRight ? read : undefined
  }

  const to = recipients(fieldOf(fields, 'to'))
  check('to', to !== undefined, 'must be a string or a list of strings.')
  check('to', to?.length !== 0, 'is required.')
  check('to', (to?.length ?? 0) <= MAX_RECIPIENTS, `may have at most ${MAX_RECIPIENTS} recipients.`)
  const message = text('message')
  const amount = number('amount')
  const seconds = number('scheduledFor')
  check('scheduledFor', seconds === undefined || isListed(14, channel), 'applies only to SMS.')
  const required = channel === 'airtime' ? 'amount' : 'message'
  check(required, given(required) !== undefined, 'is required.')
  const isShort = (message?.length ?? 0) <= MAX_MESSAGE_CHARACTERS
  check('message', isShort, `may have at most ${MAX_MESSAGE_CHARACTERS} characters.`)
  const type = text('type') ?? DEFAULT_TYPE
  const from = text('from')
  // Without any effect here, only checked.
  text('campaign')
  if (Object.keys(errors).length > 0) return { errors }
  return {
    channel,
    /** As named in the send. */
    channelName: name,
    to: to ?? [],
    /** Undefined for the project's sender ID. */
    from,
    message: message ?? '',
    /** For airtime; otherwise 0. */
    amount: channel === 'airtime' ? (amount ?? 0) : 0,
    type,
    scheduledForMs: seconds === undefined ? undefined : seconds * 1_000,
  }
}

/** Undefined unless it is a string or a list of strings. */
function recipients(value: unknown): readonly string[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value ?? '']
  if (!list.every((item) => typeof item === 'string')) return undefined
  const texts = list.flatMap((text) => text.split(',')).map((text) => text.trim())
  return texts.filter((text) => text !== '')
}
