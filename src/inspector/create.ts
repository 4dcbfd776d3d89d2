/** Composes the inspector: a listener for Express, Connect and node:http, and a handler for `Request` and `Response`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { insideOf } from '../receiver/inside.ts'
import { guardedAudit, inspectorOptions, type Authorize, type Inspector, type InspectorOptions } from './options.ts'
import { lookAt, type InspectedReceiver } from './overview.ts'
import { createRoutes } from './routes.ts'
import { createServer, Refused, type AnswerTo, type Asked } from './server.ts'

/** `storeAlone`: the receiver only opens the store; another process receives the callbacks. */
export function createInspector<R>(
  receiver: InspectedReceiver,
  options: InspectorOptions<R>,
  { storeAlone = false } = {},
): Inspector {
  checkOptions(inspectorOptions, options, 'inspector')
  const inside = insideOf(receiver)
  if (inside === undefined)
    throw new OptionsError('inspector: the first argument is not a receiver; expected what createReceiver() returned.')
  const { logger, secrets } = inside
  const looking = lookAt(receiver, inside)
  const audit = guardedAudit(options.audit, logger, secrets)
  const answerTo = createServer({
    routes: createRoutes({ receiver, looking, audit, storeAlone }),
    // The app names its server's type of request with `R`.
    authorize: (asked) => options.authorize(asked as Parameters<Authorize<R>>[0]),
    logger,
    secrets,
  })
  const mount = (options.path ?? '').replace(/\/+$/, '')
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse): void => {
      answerNode(request, response, mount, answerTo).catch(() => {
        // The response broke off.
        response.destroy()
      })
    },
    { fetch: (request: Request) => answerRequest(request, mount, answerTo) },
  )
}

/** More than any change needs. */
const MOST_BODY_BYTES = 64 * 1024

/** Rejects if the client disconnects. */
async function answerNode(
  request: IncomingMessage,
  response: ServerResponse,
  mount: string,
  answerTo: AnswerTo,
): Promise<void> {
  const { method = 'GET', url = '/', headers: sent, socket } = request
  const [path = '/', query] = url.split(/\?(.*)/s)
  const whole = 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : url
  const headers = new Headers()
  for (const [name, value] of Object.entries(sent))
    for (const one of [value ?? []].flat()) if (!name.startsWith(':')) headers.append(name, one)
  const answer = await answerTo({
    method,
    ...placeOf(path, mount, whole.split('?', 1)[0]),
    query: new URLSearchParams(query),
    headers,
    remoteAddress: socket.remoteAddress,
    original: request,
    text: () => bodyOf(request),
  })
  const body = Buffer.from(await answer.arrayBuffer())
  // The client may have disconnected.
  if (response.destroyed || response.headersSent) return
  if (answer.status === 413) response.setHeader('connection', 'close')
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.end(method === 'HEAD' ? undefined : body)
}

async function answerRequest(request: Request, mount: string, answerTo: AnswerTo): Promise<Response> {
  const { method, url, headers, body } = request
  const { pathname, searchParams } = new URL(url)
  const answer = await answerTo({
    method,
    ...placeOf(pathname, mount),
    query: searchParams,
    headers,
    remoteAddress: undefined,
    original: request,
    text: async () => (body === null ? '' : textOf(body)),
  })
  return method === 'HEAD' ? new Response(null, answer) : answer
}

/** The path of a request below the mount. Express and Connect remove the mount; `whole` is the path before that. */
function placeOf(path: string, mount: string, whole = path): Pick<Asked, 'path' | 'redirect'> {
  const isBelow = mount !== '' && (path === mount || path.startsWith(`${mount}/`))
  const below = isBelow ? path.slice(mount.length) : path
  // They leave a slash if nothing remains.
  const lacksSlash = below === '' || (below === '/' && !whole.endsWith('/'))
  // Redirect relative to the last part only: a proxy may have removed a prefix.
  const redirect = lacksSlash ? `./${whole.slice(whole.lastIndexOf('/') + 1)}/` : undefined
  return { path: below === '' ? '/' : below, redirect }
}

/** A parser of the app may have run before. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  if ('body' in request && request.body !== undefined && request.readableEnded) {
    const { body } = request
    if (typeof body === 'string') return body
    return body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : JSON.stringify(body)
  }
  return textOf(request as AsyncIterable<Buffer>)
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MOST_BODY_BYTES) throw new Refused(413, 'body_too_large', 'The request is larger than 64 KiB.')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
