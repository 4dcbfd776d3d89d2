/** Composes the inspector: a listener for Express, Connect and node:http, and a handler for `Request` and `Response`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { inspectionOf } from '../receiver/inspection.ts'
import { guardedAudit, inspectorOptions, type Authorize, type Inspector, type InspectorOptions } from './options.ts'
import { lookAt, type InspectedReceiver } from './overview.ts'
import { createRoutes } from './routes.ts'
import { createServer, type Asked } from './server.ts'

/**
 * Creates the inspector of a receiver. It remembers recent attempts, duplicates and problems of this process in bounded memory;
 * everything else it reads from the store on request. Output is masked unless `authorize` grants `reveal`. Throws an
 * `OptionsError` for an invalid option, including a missing `authorize`, and if the first argument is not a receiver.
 */
export function inspector<R = unknown>(receiver: InspectedReceiver, options: InspectorOptions<R>): Inspector {
  return createInspector(receiver, options)
}

/** `storeAlone`: the receiver only opens the store; another process receives the callbacks. */
export function createInspector<R>(
  receiver: InspectedReceiver,
  options: InspectorOptions<R>,
  { storeAlone = false } = {},
): Inspector {
  checkOptions(inspectorOptions, options, 'inspector')
  const inspection = inspectionOf(receiver)
  if (inspection === undefined)
    throw new OptionsError(
      'inspector: the first argument is not a receiver; expected a receiver from createReceiver().',
    )
  const routes = createRoutes(lookAt(receiver, inspection), guardedAudit(options.audit, inspection), storeAlone)
  // The app names its server's type of request with `R`.
  const authorize = (asked: Asked) => options.authorize(asked as Parameters<Authorize<R>>[0])
  const answerTo = createServer(routes, authorize, inspection)
  const mount = (options.path ?? '').replace(/\/+$/, '')

  /** Rejects if the client disconnects. */
  async function answerNode(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', socket } = request
    const [path = '/', query] = url.split(/\?(.*)/s)
    const whole = 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : url
    const headers = new Headers()
    for (const [name, value] of Object.entries(request.headers))
      for (const one of [value ?? []].flat()) if (!name.startsWith(':')) headers.append(name, one)
    const answer = await answerTo({
      method,
      ...addressBelow(path, mount, whole.split('?', 1)[0]),
      query: new URLSearchParams(query),
      headers,
      remoteAddress: socket.remoteAddress,
      original: request,
      text: () => readNodeText(request),
    })
    const body = Buffer.from(await answer.arrayBuffer())
    // The client may have disconnected.
    if (response.destroyed || response.headersSent) return
    if (answer.status === 413) response.shouldKeepAlive = false
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(method === 'HEAD' ? undefined : body)
  }

  async function answerRequest(request: Request): Promise<Response> {
    const { method, url, headers, body } = request
    const { pathname, searchParams: query } = new URL(url)
    const text = async () => (body === null ? '' : readText(body))
    const about = { method, query, headers, remoteAddress: undefined, original: request, text }
    const answer = await answerTo({ ...addressBelow(pathname, mount), ...about })
    return method === 'HEAD' ? new Response(null, answer) : answer
  }

  return Object.assign(
    (request: IncomingMessage, response: ServerResponse): void => {
      // The client disconnected.
      answerNode(request, response).catch(() => response.destroy())
    },
    { fetch: answerRequest },
  )
}

/** The path of a request below the mount. Express and Connect remove the mount; `whole` is the path before that. */
function addressBelow(path: string, mount: string, whole = path): Pick<Asked, 'path' | 'redirect'> {
  const isBelow = mount !== '' && (path === mount || path.startsWith(`${mount}/`))
  const below = isBelow ? path.slice(mount.length) : path
  // Express and Connect leave a slash if nothing remains.
  const lacksSlash = below === '' || (below === '/' && !whole.endsWith('/'))
  // Redirect relative to the last part only: a proxy may have removed a prefix.
  const redirect = lacksSlash ? `./${whole.slice(whole.lastIndexOf('/') + 1)}/` : undefined
  return { path: below === '' ? '/' : below, redirect }
}

/** More than any change needs. */
const MAX_BODY_BYTES = 64 * 1024

/** Undefined if the body is larger. A parser of the app may have read it before. */
async function readNodeText(request: IncomingMessage): Promise<string | undefined> {
  if ('body' in request && request.body !== undefined && request.readableEnded) {
    const { body } = request
    if (typeof body === 'string') return body
    return body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : JSON.stringify(body)
  }
  return readText(request as AsyncIterable<Buffer>)
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MAX_BODY_BYTES) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
