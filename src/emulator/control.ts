/** The control API. One table of routes serves the requests and generates the reference. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { MessagingWebhooksError } from '../public/errors.ts'
import { CALLBACK_KINDS } from '../public/events.ts'
import { checkOptions } from '../runtime/check-options.ts'
import { bearerOf, readBody, recordIn, reply, type EmulatorApp } from './http.ts'
import { apiKeySchema } from './options.ts'
import { OUTCOMES, type Outcome } from './outcomes.ts'
import { TRIGGER_NAMES, TRIGGERS } from './payloads.ts'
import type { Emulator, OfProject } from './surface.ts'

/** The part of the emulator that routes may use. */
export type Controlled = Omit<Emulator, 'app' | 'listen' | 'close' | 'onActivity'>

/** One route of the control API. */
export interface ControlRoute {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** `:project` is a percent-encoded display name. */
  readonly path: string
  readonly what: string
  /** Whether requests from this machine need the token, too: those that change something or show keys do. */
  readonly needsToken: boolean
  /** Returns the JSON of the answer. `of`: the project in the path, if there is one. `body`: the JSON body, or `{}`. */
  readonly run: (emulator: Controlled, input: { of: OfProject; query: URLSearchParams; body: object }) => unknown
}

const fields = z.record(z.string(), z.unknown())
const project = z.string().optional()
const triggerBody = z.strictObject({ event: z.enum(TRIGGER_NAMES), project, fields: fields.default({}) })
const callbackBody = z.strictObject({ kind: z.enum(CALLBACK_KINDS), project, payload: fields })
const PROJECT = '/control/projects/:project'

/** Every route. The emulator's methods check the options in a body. */
export const CONTROL_ROUTES: readonly ControlRoute[] = [
  ...routesOf('GET', false, {
    '/control': [
      'The routes.',
      () => CONTROL_ROUTES.map(({ method, path, what, needsToken }) => ({ method, path, what, needsToken })),
    ],
    '/control/report': ['Counts of sends, callbacks and faults.', (it) => it.report()],
    '/control/sends': [
      'The answered sends, by page: `?after=` and `?limit=` (100).',
      (it, { query }) => pageOf(it.sends(), query),
    ],
    '/control/deliveries': ['The callbacks, by page.', (it, { query }) => pageOf(it.deliveries(), query)],
    '/control/otp-log': ['The log of OTP sends, by page.', (it, { query }) => pageOf(it.otpLog(), query)],
    '/control/channels': ['The names of the channels.', (it) => it.channels()],
    '/control/outcomes': ['The documented numbers.', (it) => OUTCOMES.map((one) => shown(one, it.channels()))],
    '/control/triggers': [
      'The triggers.',
      () => TRIGGER_NAMES.map((event) => ({ event, kind: TRIGGERS[event].kind, what: TRIGGERS[event].what })),
    ],
    '/control/projects': ['The projects, without keys.', (it) => it.projects()],
  }),
  ...routesOf('GET', true, {
    [`${PROJECT}/keys`]: ['The live keys of a project.', (it, { of }) => it.keys(of)],
  }),
  ...routesOf('PATCH', true, {
    [PROJECT]: ['Changes settings, such as `balance` or `callbackUrls`.', (it, { body, of }) => it.configure(body, of)],
  }),
  ...routesOf('POST', true, {
    [`${PROJECT}/rotate-keys`]: [
      'Sets a new Auth Key and signing secret: those in the body, or random ones.',
      (it, { body, of }) => it.rotateKeys(body, of),
    ],
    [`${PROJECT}/regenerate-api-key`]: [
      'Sets a new API key. The old one is invalid at once.',
      (it, { body, of }) => it.regenerateApiKey(checkOptions(apiKeySchema, body).apiKey, of),
    ],
    '/control/trigger': [
      'Posts a callback that does not result from a send: `{ event, project, fields }`.',
      (it, { body }) => {
        const { event, fields: own, ...of } = triggerBody.parse(body)
        return it.trigger(event, own, of)
      },
    ],
    '/control/callback': [
      'Posts a custom callback: `{ kind, project, payload }`.',
      (it, { body }) => {
        const { kind, payload, ...of } = callbackBody.parse(body)
        return it.callback(kind, payload, of)
      },
    ],
  }),
  ...routesOf('POST', false, {
    '/control/idle': [
      'Answers `{ idle }` after the last callback, or after `deadlineMs` (10,000).',
      async (it, { body }) => ({ idle: await it.idle(body) }),
    ],
  }),
]

function routesOf(
  method: ControlRoute['method'],
  needsToken: boolean,
  table: Readonly<Record<string, readonly [what: string, run: ControlRoute['run']]>>,
): readonly ControlRoute[] {
  return Object.entries(table).map(([path, [what, run]]) => ({ method, path, what, needsToken, run }))
}

const page = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(10_000).default(100),
})

/** A page of a list, and the start of the next page. */
function pageOf<T>(list: readonly T[], query: URLSearchParams): { items: readonly T[]; next: number | null } {
  const { after, limit } = page.parse({
    after: query.get('after') ?? undefined,
    limit: query.get('limit') ?? undefined,
  })
  const end = after + limit
  return { items: list.slice(after, end), next: end < list.length ? end : null }
}

/** Uses the configured channel names. JSON has no Infinity. */
function shown(outcome: Outcome, names: ReturnType<Controlled['channels']>): object {
  const { transientFailures } = outcome
  const channels = outcome.channels.map((channel) => names[channel])
  return { ...outcome, channels, ...(transientFailures === Infinity ? { transientFailures: 'always' } : undefined) }
}

/** An error of the control API. */
class ControlError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

function invalid(message: string, status = 400): ControlError {
  return new ControlError(status, 'invalid_request', message)
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip']

/**
 * Requests from this machine that only read need no token; all others do. Web pages in a local browser and proxies count as
 * others, so it checks `Host`, `Origin` and the headers of proxies. A local proxy that adds no header passes for this machine.
 */
function checkAccess(request: IncomingMessage, token: string | undefined, needsToken: boolean): void {
  const given = bearerOf(request)
  if (given !== undefined && token !== undefined && timingSafeEqual(sha256(given), sha256(token))) return
  const problem = whyTokenIsNeeded(request) ?? (needsToken ? 'The request changes something or reads keys.' : undefined)
  if (problem === undefined) return
  if (token === undefined) throw new ControlError(403, 'control_refused', `${problem} Set a controlToken to allow it.`)
  throw new ControlError(401, 'control_refused', `${problem} Send the controlToken as a Bearer token.`)
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Why the request needs the token. Undefined if this machine made it. */
function whyTokenIsNeeded({ socket, headers }: IncomingMessage): string | undefined {
  if (!isLoopbackAddress(socket.remoteAddress)) return 'The request does not come from loopback.'
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
    const url = URL.parse(request.url ?? '/', 'http://localhost')
    if (url === null) throw invalid('The request target is not a URL.')
    const path = url.pathname.replace(/\/+$/, '')
    const candidates = CONTROL_ROUTES.flatMap((one) => {
      const match = new RegExp(`^${one.path.replace(':project', '([^/]*)')}$`).exec(path)
      return match === null ? [] : [{ ...one, of: decode(match[1]) }]
    })
    const found = candidates.find(({ method }) => method === request.method)
    checkAccess(request, token, found?.needsToken === true)
    if (found === undefined) {
      if (candidates.length === 0) throw new ControlError(404, 'route_unknown', 'GET /control lists the routes.')
      const allow = candidates.map(({ method }) => method).join(', ')
      response.setHeader('allow', allow)
      throw new ControlError(405, 'method_not_allowed', `This route takes ${allow}.`)
    }
    const body = found.method === 'GET' ? {} : await bodyOf(request)
    const result = await found.run(emulator, { of: found.of, query: url.searchParams, body })
    reply(response, 200, result as object) // Every route returns an object or a list.
  }

  return (request, response, next) => {
    if (!/^\/control(?:[/?]|$)/.test(request.url ?? '')) {
      next?.()
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
    throw invalid('The path has an invalid percent encoding.')
  }
}

/** A web page may post a form without a preflight request, so refuse any body not declared as JSON. */
async function bodyOf(request: IncomingMessage): Promise<object> {
  const read = await readBody(request)
  if ('parsed' in read && read.parsed === undefined) return {}
  if ('text' in read && read.text.trim() === '') return {}
  if ('text' in read && !/^\s*application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw invalid('The body must be JSON, with the content-type application/json.', 415)
  const body = recordIn(read)
  if (body !== undefined) return body
  throw invalid('The body is not a JSON object.')
}

function asRefusal(error: unknown): Pick<ControlError, 'status' | 'code' | 'message'> {
  if (error instanceof ControlError) return error
  if (error instanceof z.ZodError) {
    const message = error.issues.map((issue) => `${issue.path.join('.') || 'The body'}: ${issue.message}.`).join(' ')
    return { status: 400, code: 'invalid_request', message }
  }
  if (error instanceof MessagingWebhooksError)
    return { status: error.code === 'emulator_project_unknown' ? 404 : 400, code: error.code, message: error.message }
  return { status: 500, code: 'internal', message: 'Internal error of the emulator.' }
}
