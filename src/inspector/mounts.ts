/** The inspector on a server: as a listener of Express, Connect and node:http, and for servers that speak `Request` and `Response`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refused, type Answer, type Asked, type Sink } from './server.ts'

/** More than any change needs. */
const MOST_BODY_BYTES = 64 * 1024
/** Of an endless answer so much may wait to be read. */
const MOST_WAITING_BYTES = 256 * 1024

interface Mounted {
  readonly answerTo: (asked: Asked) => Promise<Answer>
  readonly mount: string
}

export async function answerNode(
  request: IncomingMessage,
  response: ServerResponse,
  { answerTo, mount }: Mounted,
): Promise<void> {
  write(request, response, await answerTo(readNode(request, mount)))
}

function readNode(request: IncomingMessage, mount: string): Asked {
  const { method = 'GET', url = '/', headers, socket } = request
  const [path = '/', query = ''] = splitOnce(url, '?')
  // Express and Connect take the mount off, and leave a slash where nothing is left.
  const whole = 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : url
  const [wholePath = '/'] = splitOnce(whole, '?')
  const below = belowMount(path, mount)
  const isAtSlash = below !== '' && (below !== '/' || wholePath.endsWith('/'))
  const given = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) if (!name.startsWith(':')) given.append(name, one)
  return {
    method,
    path: below === '' ? '/' : below,
    query: new URLSearchParams(query),
    headers: given,
    remoteAddress: socket.remoteAddress,
    original: request,
    text: () => bodyOf(request),
    ...(!isAtSlash && { lacksSlash: lastPart(wholePath) }),
  }
}

/** Empty for the mount itself, without a slash. */
function belowMount(path: string, mount: string): string {
  return mount !== '' && (path === mount || path.startsWith(`${mount}/`)) ? path.slice(mount.length) : path
}

/** All that a redirect names: a proxy may have taken a prefix off. */
function lastPart(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function splitOnce(text: string, at: string): readonly string[] {
  const place = text.indexOf(at)
  return place === -1 ? [text] : [text.slice(0, place), text.slice(place + at.length)]
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

function write(request: IncomingMessage, response: ServerResponse, { status, headers, body, stream }: Answer): void {
  // The client may have gone.
  if (response.destroyed || response.headersSent) return
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (status === 413) response.setHeader('connection', 'close')
  if (stream === undefined || request.method === 'HEAD') {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (status !== 304) response.setHeader('content-length', bytes?.length ?? 0)
    response.end(request.method === 'HEAD' ? undefined : bytes)
    return
  }
  response.flushHeaders()
  const sink: Sink = {
    write(text) {
      if (response.writableLength > MOST_WAITING_BYTES) return false
      response.write(text)
      return true
    },
    end: () => void response.end(),
  }
  response.on('close', stream(sink))
}

export async function answerRequest(request: Request, { answerTo, mount }: Mounted): Promise<Response> {
  const { method, url, headers } = request
  const { pathname, searchParams } = new URL(url)
  const below = belowMount(pathname, mount)
  const made = await answerTo({
    method,
    path: below === '' ? '/' : below,
    query: searchParams,
    headers,
    remoteAddress: undefined,
    original: request,
    text: async () => (request.body === null ? '' : textOf(request.body)),
    ...(below === '' && { lacksSlash: lastPart(pathname) }),
  })
  const init = { status: made.status, headers: { ...made.headers } }
  if (method === 'HEAD' || made.status === 304) return new Response(null, init)
  if (made.stream !== undefined) return new Response(readable(made.stream, request.signal), init)
  return new Response(typeof made.body === 'string' ? made.body : made.body && Uint8Array.from(made.body), init)
}

/** Begins with the first read, and ends with the request: an answer that nobody reads holds no place. */
function readable(stream: NonNullable<Answer['stream']>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isOver = false
  let leave: (() => void) | undefined

  function stop(): void {
    isOver = true
    leave?.()
    signal.removeEventListener('abort', stop)
  }

  return new ReadableStream<Uint8Array>(
    {
      start: () => signal.addEventListener('abort', stop),
      pull(controller) {
        if (leave !== undefined || isOver) return
        leave = stream({
          write(text) {
            // One event may wait to be read: the next one has all that it had.
            if (isOver || (controller.desiredSize ?? 0) < 0) return false
            controller.enqueue(encoder.encode(text))
            return true
          },
          end() {
            if (isOver) return
            isOver = true
            controller.close()
          },
        })
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  )
}
