/** A request as the send endpoint sees it: its fields, from wherever its form has them, and its credentials. */
import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { MAX_REQUEST_BYTES } from '../not-shown.ts'

/** Fields by name; a repeated one is a list. */
export type Fields = Readonly<Record<string, unknown>>

type ReadRequest =
  | {
      readonly kind: 'read'
      readonly fields: Fields
      /** The API key, from the header or the fields; undefined where there is none at all. */
      readonly apiKey: string | undefined
    }
  | { readonly kind: 'unreadable'; readonly apiKey: string | undefined }
  | { readonly kind: 'too large' }
  /** The client went away in the middle of the body. */
  | { readonly kind: 'aborted' }

/** Where a body parser that ran before left what it made. */
interface PreParsed {
  readonly body?: unknown
}

/**
 * Contract, service.md#authentication: GET has everything in the query, POST in the body, JSON or a form; the Bearer header works
 * for both.
 */
export async function readRequest(request: IncomingMessage & PreParsed): Promise<ReadRequest> {
  const bearer = bearerOf(request.headers.authorization)
  if (request.method === 'GET') {
    const fields = fieldsOf(URL.parse(request.url ?? '/', 'http://localhost')?.searchParams ?? new URLSearchParams())
    return { kind: 'read', fields, apiKey: bearer ?? keyOf(fields) }
  }
  const fields = await bodyFields(request)
  if (fields === 'too large' || fields === 'aborted') return { kind: fields }
  if (fields === undefined) return { kind: 'unreadable', apiKey: bearer }
  return { kind: 'read', fields, apiKey: bearer ?? keyOf(fields) }
}

async function bodyFields(request: IncomingMessage & PreParsed): Promise<Fields | 'too large' | 'aborted' | undefined> {
  // A parser ran before us, as in an app that has express.json() in front of everything.
  if (request.readableDidRead || request.readableEnded) return isFields(request.body) ? request.body : undefined
  const { 'content-length': length, 'content-type': type = '' } = request.headers
  let text: string
  try {
    text = await getRawBody(request, { limit: MAX_REQUEST_BYTES, length: length ?? null, encoding: 'utf8' })
  } catch (error) {
    return isTooLarge(error) ? 'too large' : 'aborted'
  }
  if (/^\s*application\/x-www-form-urlencoded\b/i.test(type)) return fieldsOf(new URLSearchParams(text))
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]
}

function keyOf(fields: Fields): string | undefined {
  const key = Object.hasOwn(fields, 'apiKey') ? fields['apiKey'] : undefined
  return typeof key === 'string' && key !== '' ? key : undefined
}

function fieldsOf(parameters: URLSearchParams): Fields {
  const fields = new Map<string, unknown>()
  for (const name of new Set(parameters.keys())) {
    const values = parameters.getAll(name)
    fields.set(name, values.length === 1 ? values[0] : values)
  }
  return Object.fromEntries(fields)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTooLarge(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'type' in error && error.type === 'entity.too.large'
}
