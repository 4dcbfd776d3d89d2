/** From a request to its answer: who asks is decided first, then what is asked for. No answer quotes what went wrong. */
import { z } from 'zod'
import { isOurs } from '../public/errors.ts'
import { failureLine } from '../runtime/failure-text.ts'
import type { Logger } from '../runtime/logger.ts'
import { readRights, type InspectorRequest, type Rights } from './options.ts'
import type { Problem } from './shapes.ts'

/** Where an endless answer is written. */
export interface Sink {
  /** False where the reader is slow: what is not written then is not missed. */
  write(text: string): boolean
  end(): void
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Instead of a body: begins to write, and returns what is called once the reader has gone. */
  readonly stream?: (sink: Sink) => () => void
}

/** A request with what the routes need. */
export interface Asked extends InspectorRequest {
  readonly query: URLSearchParams
  /** The body as text; rejects with a `Refused` beyond 64 KiB. */
  readonly text: () => Promise<string>
  /** Redirects to itself with a slash at its end, once the reader is known to be allowed. */
  readonly lacksSlash?: string
}

/** What is done for a request that may be made. `parts` are what the path has in its open places. */
export type Route = (asked: Asked, rights: Rights, parts: readonly string[]) => Answer | Promise<Answer>

export interface RouteRow {
  readonly method: 'GET' | 'POST'
  /** Such as `/api/events/:/raw`; each `:` is open. */
  readonly path: string
  readonly run: Route
}

/** Nothing is run, shown or fetched but what the inspector itself serves; nobody frames it, and it sends no referrer. */
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

export function answer(
  status: number,
  headers: Readonly<Record<string, string>>,
  content: Pick<Answer, 'body' | 'stream'> = {},
): Answer {
  return { status, headers: { ...SAFETY, ...headers }, ...content }
}

export function json(value: object, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  const type = { 'content-type': 'application/json; charset=utf-8' }
  return answer(status, { ...type, ...headers }, { body: JSON.stringify(value) })
}

/** A file to save; no browser shall show it as a page of ours. */
export function download(name: string, type: string, body: string | Buffer): Answer {
  const disposition = `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`
  return answer(200, { 'content-type': type, 'content-disposition': disposition }, { body })
}

/** Any answer but 2xx and 3xx. The message says what to do, and quotes nothing. */
export function problem(
  status: number,
  code: string,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Answer {
  const value: Problem = { error: { code, message } }
  return json(value, status, headers)
}

/** Ends a route early. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly answer: Answer

  constructor(status: number, code: string, message: string, headers?: Readonly<Record<string, string>>) {
    super(message)
    this.answer = problem(status, code, message, headers)
  }
}

interface AuthorizeParts {
  readonly authorize: (asked: Asked) => unknown
  readonly logger: Logger
  readonly secrets: () => readonly string[]
}

/** Asks `authorize`: the rights, or the answer for a reader without any. */
export type RightsOf = (asked: Asked) => Promise<Rights | Answer>

export function createRightsOf({ authorize, logger, secrets }: AuthorizeParts): RightsOf {
  return async (asked) => {
    try {
      const rights = readRights(await authorize(asked))
      return rights ?? problem(403, 'forbidden', 'You may not see this: `authorize` of the inspector did not allow it.')
    } catch (error) {
      const cause = failureLine(error, secrets())
      logger.error(
        { code: 'inspector_authorize_failed', cause },
        `\`authorize\` of the inspector threw. The cause: ${cause}`,
      )
      return problem(500, 'authorize_failed', 'It could not be decided whether you may see this; the log says why.')
    }
  }
}

interface ServerOptions extends Omit<AuthorizeParts, 'authorize'> {
  readonly routes: readonly RouteRow[]
  readonly rightsOf: RightsOf
}

/** Never rejects. */
export function createServer({ routes, rightsOf, logger, secrets }: ServerOptions): (asked: Asked) => Promise<Answer> {
  const rows = routes.map((row) => ({ ...row, segments: row.path.split('/') }))

  async function answerTo(asked: Asked): Promise<Answer> {
    const rights = await rightsOf(asked)
    if ('status' in rights) return rights
    if (asked.lacksSlash !== undefined) return answer(302, { location: `./${asked.lacksSlash}/` })
    const found = rows.flatMap((row) => {
      const parts = match(row.segments, asked.path.split('/'))
      return parts === undefined ? [] : [{ row, parts }]
    })
    const method = asked.method === 'HEAD' ? 'GET' : asked.method
    const right = found.find(({ row }) => row.method === method)
    if (right !== undefined) return right.row.run(asked, rights, right.parts)
    if (found.length === 0) return problem(404, 'not_found', 'There is nothing at this address of the inspector.')
    const allowed = found.map(({ row }) => (row.method === 'GET' ? 'GET, HEAD' : row.method)).join(', ')
    return problem(405, 'method_not_allowed', `Only ${allowed} is allowed here.`, { allow: allowed })
  }

  return async (asked) => {
    try {
      return await answerTo(asked)
    } catch (error) {
      if (error instanceof Refused) return error.answer
      // Messages of ours quote no body.
      if (isOurs(error)) return problem(error.code === 'options_invalid' ? 400 : 503, error.code, error.message)
      const cause = failureLine(error, secrets())
      logger.error({ code: 'inspector_failed', cause }, `The inspector met an error of its own. The cause: ${cause}`)
      return problem(500, 'internal', 'The inspector met an error of its own; the log has it.')
    }
  }
}

/** What stands in the open places; undefined where the path is another one. */
function match(segments: readonly string[], path: readonly string[]): readonly string[] | undefined {
  if (segments.length !== path.length) return undefined
  const parts: string[] = []
  for (const [index, segment] of segments.entries()) {
    const given = path[index] ?? ''
    if (segment === ':') parts.push(decoded(given))
    else if (segment !== given) return undefined
  }
  return parts.includes('') ? undefined : parts
}

/** Empty for what is no text. */
function decoded(given: string): string {
  try {
    return decodeURIComponent(given)
  } catch {
    return ''
  }
}

/** Reads what a change asks for. Throws a `Refused` for what must not be done, or cannot be read. */
export async function readChange<T>(asked: Asked, { write }: Rights, schema: z.ZodType<T>): Promise<T> {
  if (!write) throw new Refused(403, 'write_required', 'Changes need the right `write`.')
  if (!isSameOrigin(asked.headers))
    throw new Refused(403, 'foreign_origin', 'Changes are made from the page of the inspector itself alone.')
  const [type = ''] = (asked.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new Refused(403, 'not_json', 'Changes are asked for with the content-type application/json.')
  const text = await asked.text()
  const read = schema.safeParse(parsed(text))
  if (!read.success) throw new Refused(400, 'body_invalid', 'The body is not what this address takes.')
  return read.data
}

/** What a browser says of who asks, or else that it asks its own host; a form of another page can say neither. */
function isSameOrigin(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  const host = headers.get('host')
  return origin !== null && host !== null && URL.parse(origin)?.host === host.toLowerCase()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refused(400, 'body_invalid', 'The body is no JSON.')
  }
}

const LONGEST_TEXT = 1_024

/** A parameter of a query; undefined where it is absent or empty. Here and below, anything unexpected is answered 400. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name)
  if (value === null || value === '') return undefined
  return value.length > LONGEST_TEXT ? refuse(name, `a text of at most ${LONGEST_TEXT} characters`) : value
}

/** Values that may be given several times, or with commas between them. */
export function wordsIn<W extends string>(
  query: URLSearchParams,
  name: string,
  known: readonly W[],
): readonly W[] | undefined {
  const given = query
    .getAll(name)
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '')
  if (given.length === 0) return undefined
  return given.map((value) => known.find((word) => word === value) ?? refuse(name, `some of ${known.join(', ')}`))
}

export function wordIn<W extends string>(query: URLSearchParams, name: string, known: readonly W[]): W | undefined {
  const given = wordsIn(query, name, known)
  return given !== undefined && given.length > 1 ? refuse(name, `one of ${known.join(', ')}`) : given?.[0]
}

export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const value = textIn(query, name)
  if (value === undefined) return undefined
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? refuse(name, 'a time such as 2026-01-31T12:00:00Z') : ms
}

const A_PAGE = 50
const MOST_A_PAGE = 200

export function limitIn(query: URLSearchParams): number {
  const value = textIn(query, 'limit')
  if (value === undefined) return A_PAGE
  const limit = /^\d{1,6}$/.test(value) ? Number(value) : 0
  return limit >= 1 && limit <= MOST_A_PAGE ? limit : refuse('limit', `a whole number from 1 to ${MOST_A_PAGE}`)
}

function refuse(name: string, expected: string): never {
  throw new Refused(400, 'query_invalid', `The parameter ${name} cannot be used; expected ${expected}.`)
}

/** In this process, of all inspectors together. */
const AT_ONCE = 2
const MOST_WAITING = 20
const RETRY_AFTER_SECONDS = 3

let running = 0
const waiting: (() => void)[] = []

/**
 * Runs a look into a store when its turn comes, so that callbacks are answered as before however many people search at once. Rejects
 * with a `Refused` (503) where too many wait.
 */
export async function inTurn<T>(look: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (waiting.length >= MOST_WAITING)
      throw new Refused(
        503,
        'inspector_busy',
        `${AT_ONCE} searches run and ${MOST_WAITING} wait. Try again in some seconds.`,
        { 'retry-after': String(RETRY_AFTER_SECONDS) },
      )
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running += 1
  try {
    return await look()
  } finally {
    const next = waiting.shift()
    // Its place goes to the next one.
    if (next === undefined) running -= 1
    else next()
  }
}
