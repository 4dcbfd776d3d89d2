/** The control API. One table of routes serves the requests and generates the reference. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { MessagingWebhooksError } from '../public/errors.ts'
import { CALLBACK_KINDS } from '../public/events.ts'
import { checkOptions } from '../runtime/check-options.ts'
import { isRecord } from '../runtime/values.ts'
import { bearerOf, readBody, reply, type EmulatorApp } from './http.ts'
import { apiKeySchema } from './options.ts'
import { OUTCOMES, type Outcome } from './outcomes.ts'
import { TRIGGER_NAMES, TRIGGERS } from './payloads.ts'
import type { Emulator, OfProject } from './surface.ts'

/** The part of the emulator that routes may use. */
export type Controlled = Omit<Emulator, 'app' | 'controlApp' | 'listen' | 'close' | 'onActivity'>

interface RouteInput {
  /** The project in the path, if there is one. */
  readonly of: OfProject
  readonly query: URLSearchParams
  /** The JSON body. Default `{}`. */
  readonly body: object
}

/** One route of the control API. */
export interface ControlRoute {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** `:project` is a percent-encoded display name. */
  readonly path: string
  readonly what: string
  /** Answers a request. */
  readonly run: (emulator: Controlled, input: RouteInput) => unknown
}

const fields = z.record(z.string(), z.unknown())
const project = z.string().optional()
const triggerBody = z.strictObject({ event: z.enum(TRIGGER_NAMES), project, fields: fields.default({}) })
const callbackBody = z.strictObject({ kind: z.enum(CALLBACK_KINDS), project, payload: fields })
const PAGE = 100

/** Every route. The emulator's methods check the options in a body. */
export const CONTROL_ROUTES: readonly ControlRoute[] = [
  route('GET', '/control', 'These routes.', () =>
    CONTROL_ROUTES.map(({ method, path, what }) => ({ method, path, what })),
  ),
  route('GET', '/control/report', 'What was sent, answered and refused.', (it) => it.report()),
  route(
    'GET',
    '/control/sends',
    'The answered sends, a page at a time: `?after=` and `?limit=` (100).',
    (it, { query }) => pageOf(it.sends(), query),
  ),
  route('GET', '/control/deliveries', 'The callbacks that were made, likewise.', (it, { query }) =>
    pageOf(it.deliveries(), query),
  ),
  route('GET', '/control/otp-log', 'The `transactional` sends, likewise.', (it, { query }) =>
    pageOf(it.otpLog(), query),
  ),
  route('GET', '/control/channels', 'What the channels are called.', (it) => it.channels()),
  route('GET', '/control/outcomes', 'The documented numbers.', (it) =>
    OUTCOMES.map((one) => shown(one, it.channels())),
  ),
  route('GET', '/control/triggers', 'What can be triggered.', () =>
    TRIGGER_NAMES.map((event) => ({ event, kind: TRIGGERS[event].kind, what: TRIGGERS[event].what })),
  ),
  route('GET', '/control/projects', 'The projects, without keys.', (it) => it.projects()),
  route('GET', '/control/projects/:project/keys', 'The live keys of a project.', (it, { of }) => it.keys(of)),
  route(
    'PATCH',
    '/control/projects/:project',
    'Changes its `balance`, `volumeLimit`, `senderId`, `enforceHttps`, `callbackUrls` and so on.',
    (it, { body, of }) => it.configure(body, of),
  ),
  route(
    'POST',
    '/control/projects/:project/rotate-keys',
    'A new Auth Key and signing secret, at once; or those that you name.',
    (it, { body, of }) => it.rotateKeys(body, of),
  ),
  route(
    'POST',
    '/control/projects/:project/regenerate-api-key',
    'A new API key; the old one is dead at once.',
    (it, { body, of }) => it.regenerateApiKey(checkOptions(apiKeySchema, body).apiKey, of),
  ),
  route(
    'POST',
    '/control/trigger',
    'Makes a callback that no send leads to: `{ event, project, fields }`.',
    (it, { body }) => {
      const { event, fields: own, ...of } = triggerBody.parse(body)
      return it.trigger(event, own, of)
    },
  ),
  route('POST', '/control/callback', 'Makes a callback of your own: `{ kind, project, payload }`.', (it, { body }) => {
    const { kind, payload, ...of } = callbackBody.parse(body)
    return it.callback(kind, payload, of)
  }),
  route(
    'POST',
    '/control/idle',
    'Answers `{ idle }` when all callbacks were made, or when `deadlineMs` (10,000) has passed.',
    async (it, { body }) => ({ idle: await it.idle(body) }),
  ),
]

function route(method: ControlRoute['method'], path: string, what: string, run: ControlRoute['run']): ControlRoute {
  return { method, path, what, run }
}

/** A page of a list, and the start of the next page. */
function pageOf<T>(list: readonly T[], query: URLSearchParams): { items: readonly T[]; next: number | null } {
  const page = z
    .strictObject({ after: z.coerce.number().int().min(0), limit: z.coerce.number().int().min(1).max(10_000) })
    .parse({ after: query.get('after') ?? 0, limit: query.get('limit') ?? PAGE })
  const end = page.after + page.limit
  return { items: list.slice(page.after, end), next: end < list.length ? end : null }
}

/** Uses the configured channel names. JSON has no Infinity. */
function shown(outcome: Outcome, names: ReturnType<Controlled['channels']>): object {
  const { transientFailures } = outcome
  const channels = outcome.channels.flatMap((channel) => names[channel])
  return { ...outcome, channels, ...(transientFailures === Infinity ? { transientFailures: 'always' } : undefined) }
}

/** An error of the control API. */
class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip']

/**
 * Requests from this machine need no token; all others do. Web pages in a local browser and proxies count as others, so it
 * checks `Host`, `Origin` and the headers of proxies.
 */
function checkAccess(request: IncomingMessage, token: string | undefined): void {
  const given = bearerOf(request)
  if (given !== undefined && token !== undefined && timingSafeEqual(sha256(given), sha256(token))) return
  const problem = whyTokenIsNeeded(request)
  if (problem === undefined) return
  const [status, advice] =
    token === undefined ? [403, 'Set a controlToken to allow it.'] : [401, 'Send the controlToken as a Bearer token.']
  throw new Refused(status, 'control_refused', `${problem} ${advice}`)
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Why the request needs the token. Undefined if this machine made it. */
function whyTokenIsNeeded({ socket, headers }: IncomingMessage): string | undefined {
  if (!isLoopbackAddress(socket.remoteAddress)) return 'The control API answers on loopback.'
  if (FORWARDED.some((name) => headers[name] !== undefined)) return 'The request was forwarded by a proxy.'
  if (!isLoopbackHost(headers.host)) return 'The Host header names no loopback address.'
  // A web page can post to any address but cannot hide its origin.
  const { origin } = headers
  if (origin !== undefined && !(URL.canParse(origin) && isLoopbackHost(new URL(origin).host)))
    return 'The request comes from a page of another origin.'
  return undefined
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && (/^(::ffff:)?127\./.test(address) || address === '::1')
}

function isLoopbackHost(host: string | undefined): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host ?? '')
}

export function createControlApp(emulator: Controlled, token: string | undefined): EmulatorApp {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkAccess(request, token)
    const url = URL.parse(request.url ?? '/', 'http://localhost')
    if (url === null) throw new Refused(400, 'invalid_request', 'The request target is not a URL.')
    const path = url.pathname.replace(/\/+$/, '')
    const candidates = CONTROL_ROUTES.flatMap((one) => {
      const match = new RegExp(`^${one.path.replace(':project', '([^/]*)')}$`).exec(path)
      return match === null ? [] : [{ ...one, of: decode(match[1]) }]
    })
    const found = candidates.find(({ method }) => method === request.method)
    if (found === undefined) {
      if (candidates.length === 0) throw new Refused(404, 'route_unknown', 'GET /control lists the routes.')
      const allow = candidates.map(({ method }) => method).join(', ')
      response.setHeader('allow', allow)
      throw new Refused(405, 'method_not_allowed', `This route takes ${allow}.`)
    }
    const body = found.method === 'GET' ? {} : await bodyOf(request)
    const result = await found.run(emulator, { of: found.of, query: url.searchParams, body })
    reply(response, 200, result as object) // Every route returns an object or a list.
  }

  return (request, response, next) => {
    if (next !== undefined && !/^\/control(?:[/?]|$)/.test(request.url ?? '')) {
      next()
      return
    }
    answer(request, response).catch((error: unknown) => {
      const { status, code, message } = asRefusal(error)
      reply(response, status, { error: { code, message } }, status === 401 ? { 'www-authenticate': 'Bearer' } : {})
    })
  }
}

/** The project in the path, if there is one. */
function decode(part: string | undefined): OfProject {
  try {
    return part === undefined || part === '' ? {} : { project: decodeURIComponent(part) }
  } catch {
    throw new Refused(400, 'invalid_request', 'The path has an invalid percent encoding.')
  }
}

/** A web page may post a form without a preflight request, so refuse any body not declared as JSON. */
async function bodyOf(request: IncomingMessage): Promise<object> {
  const read = await readBody(request)
  const text = 'text' in read ? read.text.trim() : ''
  if (text !== '' && !/^\s*application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw new Refused(415, 'invalid_request', 'The body must be JSON, with the content-type application/json.')
  const body = 'parsed' in read ? (read.parsed ?? {}) : text === '' ? {} : parseJson(text)
  if (isRecord(body)) return body
  throw new Refused(400, 'invalid_request', 'The body is not a JSON object.')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function asRefusal(error: unknown): { readonly status: number; readonly code: string; readonly message: string } {
  if (error instanceof Refused) return error
  if (error instanceof z.ZodError) {
    const message = error.issues.map((issue) => `${issue.path.join('.') || 'The body'}: ${issue.message}.`).join(' ')
    return { status: 400, code: 'invalid_request', message }
  }
  if (error instanceof MessagingWebhooksError)
    return { status: error.code === 'emulator_project_unknown' ? 404 : 400, code: error.code, message: error.message }
  return { status: 500, code: 'internal', message: 'Internal error of the emulator.' }
}
