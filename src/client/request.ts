/** A send in each of the contract's three forms. Contract, service.md#send-a-message, #authentication. */
import { OptionsError } from '../public/errors.ts'
import { isPromiseLike, letReject } from '../runtime/values.ts'
import type { Outgoing } from './message.ts'

/** The form of a request: a POST of JSON, a POST of a form, or a GET with a query. */
export const FORMS = ['json', 'form', 'query'] as const
/** The form of a request. */
export type Form = (typeof FORMS)[number]

/** Where the API key stands: in the header `Authorization: Bearer`, or among the fields as `apiKey`. */
export const KEY_PLACES = ['header', 'field'] as const
/** Where the API key stands. */
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

/** What a header can carry. */
const HEADER_TEXT = /^[\x21-\x7e]+$/

/** Throws an `OptionsError` for what cannot be written in this form. */
export function buildRequest(outgoing: Outgoing, parts: RequestParts): BuiltRequest {
  const { baseUrl, apiKey, via, keyIn } = parts
  if (keyIn === 'header' && !HEADER_TEXT.test(apiKey))
    throw new OptionsError(
      'apiKey has white space or a character that no header can carry (the line end of its file?).',
    )
  const fields = fieldsOf(outgoing, parts)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (keyIn === 'header') headers['authorization'] = `Bearer ${apiKey}`
  // A redirect would carry the key and the message to wherever it leads, and a POST may become a GET on the way.
  const init: RequestInit = { method: via === 'query' ? 'GET' : 'POST', headers, redirect: 'manual' }
  if (via === 'query') {
    const url = new URL(baseUrl)
    for (const [name, value] of parametersOf(fields)) url.searchParams.append(name, value)
    return { url: url.href, init }
  }
  const isJson = via === 'json'
  headers['content-type'] = isJson ? 'application/json' : 'application/x-www-form-urlencoded'
  const body = isJson ? jsonOf(fields) : parametersOf(fields).toString()
  // Deno sends a text again by itself after a reset connection (measured with 2.9), and what it cannot read twice, once.
  return { url: baseUrl, init: { ...init, body: new Blob([body]) } }
}

function fieldsOf(outgoing: Outgoing, parts: RequestParts): ReadonlyMap<string, unknown> {
  const { to, message, from, channel, type, campaign, scheduledFor, extra } = outgoing
  const own: readonly (readonly [string, unknown])[] = [
    ['project', parts.project],
    ['apiKey', parts.keyIn === 'field' ? parts.apiKey : undefined],
    ['from', from],
    // Contract, service.md#send-request-fields: one number is a text.
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
  throw new OptionsError('The function of schedule threw, or returned no object.')
}

/** Without fields the message would go out at once, so a promise, or any other thing without, is none. */
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
    // What it says may quote a field.
    throw new OptionsError('extra has a value that cannot be written as JSON.')
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
  throw new OptionsError(`${name} is no text, number, true or false; expected one, or via: 'json'.`)
}
