/** Builds a send in each of the contract's three forms. Contract, service.md#send-a-message, #authentication. */
import { OptionsError } from '../public/errors.ts'
import { isPromiseLike, letReject } from '../runtime/values.ts'
import type { Outgoing } from './message.ts'

export const FORMS = ['json', 'form', 'query'] as const
/** The form of a request: a POST with JSON, a POST with a form, or a GET with a query. */
export type Form = (typeof FORMS)[number]

export const KEY_PLACES = ['header', 'field'] as const
/** The position of the API key: in the header `Authorization: Bearer`, or in the field `apiKey`. */
export type KeyPlace = (typeof KEY_PLACES)[number]

interface RequestParts {
  readonly baseUrl: string
  readonly project: string
  readonly apiKey: string
  readonly via: Form
  readonly keyIn: KeyPlace
  readonly schedule: (at: Date) => Readonly<Record<string, unknown>>
}

interface BuiltRequest {
  readonly url: string
  readonly init: RequestInit
}

/** Characters allowed in a header. */
const HEADER_TEXT = /^[\x21-\x7e]+$/

/** Throws an `OptionsError` for a value that this form cannot express. */
export function buildRequest(outgoing: Outgoing, parts: RequestParts): BuiltRequest {
  const { baseUrl, apiKey, via, keyIn } = parts
  if (keyIn === 'header' && !HEADER_TEXT.test(apiKey))
    throw new OptionsError(
      'apiKey contains white space or a character that a header cannot carry. Remove it: it may be the line end of a file.',
    )
  const fields = fieldsOf(outgoing, parts)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (keyIn === 'header') headers['authorization'] = `Bearer ${apiKey}`
  // A redirect would pass the key and the message on, and may turn a POST into a GET.
  const init: RequestInit = { method: via === 'query' ? 'GET' : 'POST', headers, redirect: 'manual' }
  if (via === 'query') {
    const url = new URL(baseUrl)
    for (const [name, value] of parametersOf(fields)) url.searchParams.append(name, value)
    return { url: url.href, init }
  }
  const isJson = via === 'json'
  headers['content-type'] = isJson ? 'application/json' : 'application/x-www-form-urlencoded'
  const body = isJson ? jsonOf(fields) : parametersOf(fields).toString()
  // Deno repeats a request with a string body after a reset connection (measured with 2.9), but not one with a Blob.
  return { url: baseUrl, init: { ...init, body: new Blob([body]) } }
}

function fieldsOf(outgoing: Outgoing, parts: RequestParts): ReadonlyMap<string, unknown> {
  const { to, message, from, channel, type, campaign, scheduledFor, extra } = outgoing
  const own: readonly (readonly [string, unknown])[] = [
    ['project', parts.project],
    ['apiKey', parts.keyIn === 'field' ? parts.apiKey : undefined],
    ['from', from],
    // Contract, service.md#send-request-fields: a single number is a string.
    ['to', typeof to === 'string' || to.length > 1 ? to : to[0]],
    ['message', message],
    ['channel', channel],
    ['type', type],
    ['campaign', campaign],
  ]
  const all = [...own, ...planned(scheduledFor, parts), ...Object.entries(extra)]
  return new Map(all.filter(([, value]) => value !== undefined))
}

function planned(at: Date | undefined, { schedule }: RequestParts): readonly (readonly [string, unknown])[] {
  if (at === undefined) return []
  const fields = plannedFields(at, schedule)
  if (fields !== undefined) return Object.entries(fields)
  throw new OptionsError('schedule threw, or returned no object with fields. Return the fields for the time.')
}

/** Without these fields the message would be sent at once, so anything but an object with fields is an error. */
function plannedFields(at: Date, schedule: RequestParts['schedule']): object | undefined {
  try {
    const fields: unknown = schedule(at)
    letReject(fields)
    return typeof fields === 'object' && fields !== null && !isPromiseLike(fields) ? fields : undefined
  } catch {
    return undefined
  }
}

function jsonOf(fields: ReadonlyMap<string, unknown>): string {
  try {
    return JSON.stringify(Object.fromEntries(fields))
  } catch {
    // The error may quote a field.
    throw new OptionsError('extra contains a value that cannot be written as JSON.')
  }
}

function parametersOf(fields: ReadonlyMap<string, unknown>): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of fields) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const each of values) parameters.append(name, plainText(name, each))
  }
  return parameters
}

function plainText(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  throw new OptionsError(`${name} is not a string, a number, true or false. Expected one of these, or via: 'json'.`)
}
