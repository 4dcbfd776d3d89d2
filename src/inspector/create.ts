/** Puts the inspector together: as a listener of Express, Connect and node:http, and for servers that speak `Request` and `Response`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { insideOf } from '../receiver/inside.ts'
import { guardedAudit, inspectorOptions, type Authorize, type Inspector, type InspectorOptions } from './options.ts'
import { lookAt, type InspectedReceiver } from './overview.ts'
import { createRoutes } from './routes.ts'
import { createServer, Refused, type AnswerTo, type Asked } from './server.ts'

/** `storeAlone`: the receiver is not the one that takes callbacks, but looks into its store from another process. */
export function createInspector<R>(
  receiver: InspectedReceiver,
  options: InspectorOptions<R>,
  { storeAlone = false } = {},
): Inspector {
  checkOptions(inspectorOptions, options, 'inspector')
  const inside = insideOf(receiver)
  if (inside === undefined)
    throw new OptionsError('inspector: the first argument is no receiver; expected what createReceiver() returned.')
  const { logger, secrets } = inside
  const looking = lookAt(receiver, inside)
  const audit = guardedAudit(options.audit, logger, secrets)
  const answerTo = createServer({
    routes: createRoutes({ receiver, looking, audit, storeAlone }),
    // The app that mounts it says by `R` what its server calls a request.
    authorize: (asked) => options.authorize(asked as Parameters<Authorize<R>>[0]),
    logger,
    secrets,
  })
  const mount = (options.path ?? '').replace(/\/+$/, '')
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse): void => {
      answerNode(request, response, mount, answerTo).catch(() => {
        // It broke off on its way.
        response.destroy()
      })
    },
    { fetch: (request: Request) => answerRequest(request, mount, answerTo) },
  )
}

/** More than any change needs. */
const MOST_BODY_BYTES = 64 * 1024

/** Rejects where the client breaks off. */
async function answerNode(
  request: IncomingMessage,
  response: ServerResponse,
  mount: string,
  answerTo: AnswerTo,
): Promise<void> {
  const { method = 'GET', url = '/', headers, socket } = request
  const [path = '/', query] = url.split(/\?(.*)/s)
  const whole = 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : url
  const given = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) if (!name.startsWith(':')) given.append(name, one)
  const answer = await answerTo({
    method,
    ...placeOf(path, mount, whole.split('?', 1)[0]),
    query: new URLSearchParams(query),
    headers: given,
    remoteAddress: socket.remoteAddress,
    original: request,
    text: () => bodyOf(request),
  })
  // The client may have gone.
  if (response.destroyed || response.headersSent) return
  if (answer.status === 413) response.setHeader('connection', 'close')
  response.writeHead(answer.status, answer.headers)
  response.end(method === 'HEAD' ? undefined : answer.body)
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
  const hasBody = method !== 'HEAD' && answer.status !== 304
  // A buffer of a pool would hand over all of the pool.
  const content = typeof answer.body === 'string' ? answer.body : Uint8Array.from(answer.body)
  return new Response(hasBody ? content : null, answer)
}

/** Where a request stands below the mount. Express and Connect take the mount off: `whole` is the path before that. */
function placeOf(path: string, mount: string, whole = path): Pick<Asked, 'path' | 'redirect'> {
  const isBelow = mount !== '' && (path === mount || path.startsWith(`${mount}/`))
  const below = isBelow ? path.slice(mount.length) : path
  // They leave a slash where nothing is left.
  const lacksSlash = below === '' || (below === '/' && !whole.endsWith('/'))
  // The last part is all that a redirect names: a proxy may have taken a prefix off.
  const redirect = lacksSlash ? `./${whole.slice(whole.lastIndexOf('/') + 1)}/` : undefined
  return { path: below === '' ? '/' : below, redirect }
}

/** A parser of the app may have been there before. */
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
