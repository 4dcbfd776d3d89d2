/**
 * Answers a request for every server: first authorises it, then routes it, and reads its query or body. No answer quotes an
 * unexpected error.
 */
import { z } from 'zod'
import { isOurs } from '../public/errors.ts'
import { failureLine } from '../runtime/failure-text.ts'
import type { Inspection } from '../receiver/inspection.ts'
import { readRights, type InspectorRequest, type Rights } from './options.ts'
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import { createLimiter } from '../runtime/concurrency.ts'
import { parsedJson } from '../runtime/values.ts'

/** A request, with the fields that the routes need. */
export interface Asked extends InspectorRequest {
  readonly query: URLSearchParams
  /** Undefined beyond 64 KiB. */
  readonly text: () => Promise<string | undefined>
  /** If set, redirects to this address, the same with a trailing slash, once the reader is authorised. */
  readonly redirect?: string | undefined
}

export interface Route {
  readonly method: 'GET' | 'POST'
  /** Such as `/api/events/:/raw`. The `:` matches one segment. */
  readonly path: string
  /** `part` is the segment that `:` matches. */
  readonly run: (asked: Asked, rights: Rights, part: string) => Response | Promise<Response>
}

/** Allows only what the inspector serves itself, forbids framing, and sends no referrer. */
const SAFETY = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
} as const

/** Copies bytes, because a pooled buffer would expose its whole pool. */
export function reply(status: number, headers: Readonly<Record<string, string>>, body?: string | Buffer): Response {
  const content = typeof body === 'object' ? Uint8Array.from(body) : body
  const length = content === undefined ? {} : { 'content-length': String(Buffer.byteLength(content)) }
  return new Response(content, { status, headers: { ...SAFETY, ...length, ...headers } })
}

export function json(value: object, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return reply(status, { 'content-type': 'application/json; charset=utf-8', ...headers }, JSON.stringify(value))
}

/** A file to download, which no browser must render as a page of this origin. */
export function download(name: string, type: string, body: string | Buffer): Response {
  const disposition = `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`
  return reply(200, { 'content-type': type, 'content-disposition': disposition }, body)
}

/** The body of every answer except 2xx and 3xx. */
export interface Problem {
  readonly error: { readonly code: string; readonly message: string }
}

/** Ends a route with a `Problem`. The message says what to do and quotes nothing. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly answer: Response

  constructor(status: number, code: string, message: string, headers?: Readonly<Record<string, string>>) {
    super(message)
    this.answer = json({ error: { code, message } } satisfies Problem, status, headers)
  }
}

/** Never rejects. */
export function createServer(
  routes: readonly Route[],
  authorize: (asked: Asked) => unknown,
  { logger, secrets }: Pick<Inspection, 'logger' | 'secrets'>,
): (asked: Asked) => Promise<Response> {
  const rows = routes.map((row) => {
    const pattern = new RegExp(`^${row.path.replaceAll('.', '\\.').replace(':', '([^/]+)')}$`)
    return { ...row, pattern }
  })

  async function rightsOf(asked: Asked): Promise<Rights> {
    let allowed: unknown
    try {
      allowed = await authorize(asked)
    } catch (error) {
      const cause = failureLine(error, secrets())
      logger.error(
        { code: 'inspector_authorize_failed', cause },
        `\`authorize\` of the inspector threw. The cause: ${cause}`,
      )
      throw new ProblemError(500, 'authorize_failed', 'The access check failed. The log has the cause.')
    }
    const rights = readRights(allowed)
    if (rights === undefined)
      throw new ProblemError(403, 'forbidden', 'You may not see this: `authorize` of the inspector did not allow it.')
    return rights
  }

  async function answerTo(asked: Asked): Promise<Response> {
    const rights = await rightsOf(asked)
    // Redirect only an authorised reader, because the redirect reveals that there is an inspector.
    if (asked.redirect !== undefined) return reply(302, { location: asked.redirect })
    const found = rows.filter(({ pattern }) => pattern.test(asked.path))
    const method = asked.method === 'HEAD' ? 'GET' : asked.method
    const right = found.find((row) => row.method === method)
    if (right !== undefined) return right.run(asked, rights, decoded(right.pattern.exec(asked.path)?.[1] ?? ''))
    if (found.length === 0) throw nothingThere()
    const allow = found.map((row) => (row.method === 'GET' ? 'GET, HEAD' : row.method)).join(', ')
    throw new ProblemError(405, 'method_not_allowed', `Only ${allow} is allowed here.`, { allow })
  }

  function failureOf(error: unknown): ProblemError {
    // Messages of this package quote no body.
    if (isOurs(error)) return new ProblemError(error.code === 'options_invalid' ? 400 : 503, error.code, error.message)
    const cause = failureLine(error, secrets())
    logger.error({ code: 'inspector_failed', cause }, `The store or the inspector itself failed. The cause: ${cause}`)
    const name = error instanceof Error ? error.name : 'a value that is not an error'
    const text = `The store or the inspector itself failed with ${name}. The log has the message.`
    return new ProblemError(503, 'store_failed', text)
  }

  return (asked) =>
    answerTo(asked).catch((error: unknown) => (error instanceof ProblemError ? error : failureOf(error)).answer)
}

export function nothingThere(): ProblemError {
  return new ProblemError(404, 'not_found', 'There is nothing at this address of the inspector.')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw nothingThere()
  }
}

/** Reads the input of a change. Throws a `ProblemError` if it is not allowed or invalid. */
export async function readChange<T>(asked: Asked, { write }: Rights, schema: z.ZodType<T>): Promise<T> {
  if (!write) throw new ProblemError(403, 'write_required', 'Changes require the right `write`.')
  if (!isSameOrigin(asked.headers))
    throw new ProblemError(403, 'foreign_origin', 'Changes are accepted only from the page of the inspector.')
  const [type = ''] = (asked.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new ProblemError(403, 'not_json', 'Send changes with the content-type application/json.')
  const text = await asked.text()
  if (text === undefined) throw new ProblemError(413, 'body_too_large', 'The request is larger than 64 KiB.')
  const { success, data } = schema.safeParse(parsedJson(text))
  if (success) return data
  throw new ProblemError(400, 'body_invalid', 'The body does not have the JSON fields of this address.')
}

/** Checks the headers in which a browser reports the origin. A form of another page can set neither. */
function isSameOrigin(headers: InspectorRequest['headers']): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  const host = headers.get('host')
  return origin !== null && host !== null && URL.parse(origin)?.host === host.toLowerCase()
}

const text = z.string().max(1_024).optional()
const time = z
  .string()
  .transform((value) => Date.parse(value))
  .refine((ms) => !Number.isNaN(ms), 'expected a time such as 2026-01-31T12:00:00Z')
  .optional()

/** Parameters of every list. A list ignores filters that it does not have. */
const listQuery = z.object({
  type: z.enum(EVENT_TYPES).optional(),
  outcome: z.enum(['waiting', 'running', 'retrying', 'settled', 'unhandled', 'dead']).optional(),
  carrier: z.enum(CARRIERS).optional(),
  class: z.enum(QUARANTINE_CLASSES).optional(),
  range: z.enum(['15m', '1h', '24h']).default('1h'),
  project: text,
  channel: text,
  error: text,
  code: text,
  q: text,
  /** The id of the message of the requested event. */
  of: text,
  from: time,
  to: time,
  after: text,
  limit: z.coerce.number().int().min(1).max(200).default(50),
})
export type ListQuery = z.infer<typeof listQuery>

/** Empty values are absent. Throws a `ProblemError` (400) for invalid parameters. */
export function readQuery(query: URLSearchParams): ListQuery {
  const read = listQuery.safeParse(Object.fromEntries([...query].filter(([, value]) => value !== '')))
  if (read.success) return read.data
  const [issue] = read.error.issues
  const name = String(issue?.path[0])
  throw new ProblemError(400, 'query_invalid', `The parameter ${name} is invalid: ${issue?.message ?? ''}.`)
}

/** Limits the searches of all inspectors in this process, so that they do not delay callbacks. */
export const limitedSearch = createLimiter({
  atOnce: 2,
  mostWaiting: 20,
  full() {
    return new ProblemError(503, 'inspector_busy', 'Too many searches are waiting. Try again in a few seconds.', {
      'retry-after': '3',
    })
  },
})
