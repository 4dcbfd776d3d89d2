/**
 * The exact bytes of a body, whatever ran before us and however the client behaves. Contract, "Callback authenticity": the
 * signature is made over the raw body, so it is read before anything parses it.
 */
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Captured } from '../callback.ts'
import type { Flow } from './inflight.ts'
import { exact, Pieces, tooLarge, type Bodies, type Bounds } from './reading.ts'

/** Where frameworks leave what they made of a body. */
interface PreParsed {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** Reads the body of a request, or takes what a parser before us left of it; `done` is called once, perhaps at once. */
export function captureBody(
  request: IncomingMessage & PreParsed,
  bodies: Bodies,
  done: (captured: Captured) => void,
): void {
  const announced = announcedLength(request)
  if (announced !== undefined && announced > bodies.maxBodyBytes)
    done(tooLarge(`${announced} bytes were announced`, bodies))
  // The state of the stream decides, not `body`: Express 4's parser sets `{}` and leaves the stream unread.
  else if (request.readableDidRead || request.readableEnded) done(leftBefore(request, announced, bodies))
  else if (request.readableEncoding !== null) done({ kind: 'failed', reason: 'body_already_read' })
  else if (request.destroyed) {
    const rest = unreadRest(request, new Pieces())
    const isWhole = rest !== undefined && rest.length <= bodies.maxBodyBytes
    done(isWhole ? exact(rest) : { kind: 'failed', reason: 'body_incomplete' })
  } else readStream(request, announced, bodies, done)
}

/** The listeners stay, for they do nothing once the body is there, and to take each off costs as much as to hang it on. */
function readStream(
  request: IncomingMessage,
  announced: number | undefined,
  bodies: Bodies,
  done: (captured: Captured) => void,
): void {
  const reading = bodies.begin(new NodeFlow(request), announced, done)
  function onGone(): void {
    if (reading.isFinished) return
    // A client that left after its last byte has sent a whole callback.
    const rest = unreadRest(request, reading.pieces)
    if (rest === undefined || rest.length > bodies.maxBodyBytes) reading.gone()
    else reading.finish(exact(rest))
  }
  request.on('end', () => reading.end())
  request.on('error', onGone)
  request.on('close', onGone)
  request.on('data', (piece: Buffer) => reading.add(piece))
  // Somebody before us may have paused it to look something up.
  request.resume()
}

/** A paused request reads on from its connection, up to the stream's own bound, so that is paused, too. */
class NodeFlow implements Flow {
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.#request = request
  }

  pause(): void {
    this.#request.pause()
    socketOf(this.#request)?.pause()
  }

  resume(): void {
    this.#request.resume()
    socketOf(this.#request)?.resume()
  }
}

/** Undefined where it is not this request's own. */
function socketOf({ httpVersionMajor, socket }: IncomingMessage): Socket | undefined {
  return httpVersionMajor === 1 && socket instanceof Socket ? socket : undefined
}

/** Whatever a parser before us left, if its bytes are those that were announced. */
function leftBefore(request: PreParsed, announced: number | undefined, bounds: Pick<Bounds, 'maxBodyBytes'>): Captured {
  for (const candidate of [request.rawBody, request.body]) {
    const bytes = typeof candidate === 'string' ? Buffer.from(candidate) : candidate
    if (!(bytes instanceof Uint8Array)) continue
    if (bytes.length > bounds.maxBodyBytes) return tooLarge(`${bytes.length} bytes had been read`, bounds)
    // Text was decoded, and perhaps not to the same bytes; a Buffer is only ever inflated, and the proof will tell.
    if (typeof candidate === 'string' && announced !== undefined && bytes.length !== announced) continue
    return exact(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), true)
  }
  const { body } = request
  if (typeof body === 'string') return { kind: 'parsed', value: parseOrUndefined(body) }
  return body === undefined || body === null
    ? { kind: 'failed', reason: 'body_already_read' }
    : { kind: 'parsed', value: body }
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The whole body of a request whose client has gone, where all of it had arrived; its end is still in the stream. */
function unreadRest(request: IncomingMessage, pieces: Pieces): Buffer | undefined {
  if (!request.complete) return undefined
  for (let piece: unknown = request.read(); piece instanceof Buffer; piece = request.read()) pieces.add(piece)
  const bytes = pieces.whole()
  const announced = announcedLength(request)
  return announced === undefined || announced === bytes.length ? bytes : undefined
}

function announcedLength(request: IncomingMessage): number | undefined {
  const text = request.headers['content-length']
  return text === undefined ? undefined : Number(text)
}
