/** The control API over HTTP: access, the route, its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import getRawBody from 'raw-body'
import { z } from 'zod'
import { MessagingWebhooksError } from '../../errors.ts'
import { reply } from '../reply.ts'
import type { EmulatorApp } from '../surface.ts'
import { accessOf } from './access.ts'
import { CONTROL_ROUTES, type Controlled, type ControlRoute } from './routes.ts'

const MAX_BODY_BYTES = 1_048_576

/** A refusal of the control API itself. */
class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export function createControlApp(emulator: Controlled, token: string | undefined): EmulatorApp {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const access = accessOf(request, token)
    if (!access.allowed) throw new Refused(access.status, 'control_refused', access.why)
    const url = URL.parse(request.url ?? '/', 'http://localhost')
    if (url === null) throw new Refused(400, 'invalid_request', 'The request target is not a URL.')
    const candidates = CONTROL_ROUTES.flatMap((route) => {
      const project = matchPath(route.path, url.pathname)
      return project === undefined ? [] : [{ route, project: project === '' ? undefined : project }]
    })
    const found = candidates.find(({ route }) => route.method === request.method)
    if (found === undefined) {
      if (candidates.length === 0) throw new Refused(404, 'route_unknown', 'GET /control lists the routes.')
      const allow = candidates.map(({ route }) => route.method).join(', ')
      response.setHeader('allow', allow)
      throw new Refused(405, 'method_not_allowed', `This route takes ${allow}.`)
    }
    const body = await bodyOf(request, found.route)
    const result = await found.route.run(emulator, { project: found.project, query: url.searchParams, body })
    reply(response, 200, result as object) // Every route gives an object or a list.
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

/** The project that stands in the path, empty where the route has none; undefined where the path is another. */
function matchPath(pattern: string, path: string): string | undefined {
  const wanted = pattern.split('/')
  const parts = path.replace(/\/+$/, '').split('/')
  if (wanted.length !== parts.length) return undefined
  let project = ''
  for (const [index, want] of wanted.entries()) {
    const part = parts[index] ?? ''
    if (want === ':project') project = decode(part)
    else if (want !== part) return undefined
  }
  return project
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Refused(400, 'invalid_request', 'The path is not percent-encoded as it should be.')
  }
}

/** A form that a page posts without asking is no JSON, so it is refused whatever it says. */
async function bodyOf(request: IncomingMessage & { body?: unknown }, { method }: ControlRoute): Promise<unknown> {
  if (method === 'GET') return {}
  const { 'content-length': length, 'content-type': type = '' } = request.headers
  // A parser ran before us.
  if (request.readableDidRead || request.readableEnded) return request.body ?? {}
  const text = await getRawBody(request, { limit: MAX_BODY_BYTES, length: length ?? null, encoding: 'utf8' })
  if (text.trim() === '') return {}
  if (!/^\s*application\/json\b/i.test(type))
    throw new Refused(415, 'invalid_request', 'The body must be JSON, with the content-type application/json.')
  try {
    return JSON.parse(text)
  } catch {
    throw new Refused(400, 'invalid_request', 'The body is not JSON.')
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
  return { status: 500, code: 'internal', message: 'The emulator met an error of its own.' }
}
