/** The inspector as a listener of Express, Connect and node:http. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refused, type Answer, type Sink } from './answer.ts'
import { MOST_BODY_BYTES, type Asked } from './request.ts'
import { redirectToSlash } from './server.ts'

/** Of an endless answer so much may wait to be read. */
const MOST_WAITING_BYTES = 256 * 1024

export async function answerNode(
  request: IncomingMessage,
  response: ServerResponse,
  { answerTo, mount }: { readonly answerTo: (asked: Asked) => Promise<Answer>; readonly mount: string },
): Promise<void> {
  const asked = readNode(request, mount)
  write(request, response, typeof asked === 'string' ? redirectToSlash(asked) : await answerTo(asked))
}

/** The path itself where it lacks the slash at its end. */
function readNode(request: IncomingMessage, mount: string): Asked | string {
  const { method = 'GET', url = '/', headers, socket } = request
  const [path = '/', query = ''] = splitOnce(url, '?')
  // Express and Connect take the mount off, and leave a slash where nothing is left.
  const whole = 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : url
  const [wholePath = '/'] = splitOnce(whole, '?')
  const below = belowMount(path, mount)
  if (below === '' || (below === '/' && !wholePath.endsWith('/'))) return wholePath
  const given = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) if (!name.startsWith(':')) given.append(name, one)
  return {
    method,
    path: below,
    query: new URLSearchParams(query),
    headers: given,
    remoteAddress: socket.remoteAddress,
    original: request,
    text: () => bodyOf(request),
  }
}

/** Empty for the mount itself, without a slash. */
export function belowMount(path: string, mount: string): string {
  return mount !== '' && (path === mount || path.startsWith(`${mount}/`)) ? path.slice(mount.length) : path
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
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > MOST_BODY_BYTES) throw new Refused(413, 'body_too_large', 'The request is larger than 64 KiB.')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function write(request: IncomingMessage, response: ServerResponse, { status, headers, body, stream }: Answer): void {
  // Whoever asked may have gone.
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
