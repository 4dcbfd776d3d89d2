/** The inspector on a server: as a listener of Express, Connect and node:http, and for servers that speak `Request` and `Response`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refused, type AnswerTo, type Asked } from './server.ts'

/** More than any change needs. */
const MOST_BODY_BYTES = 64 * 1024

/** Rejects where the client breaks off. */
export async function answerNode(
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

export async function answerRequest(request: Request, mount: string, answerTo: AnswerTo): Promise<Response> {
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
