/**
 * The exact bytes of a body, whatever ran before us and however the client behaves. Contract, "Callback authenticity": the
 * signature is made over the raw body, so it is read before anything parses it.
 */
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { CaptureFailure, Captured } from '../callback.ts'
import type { Flow } from './inflight.ts'
import { createPieces, type Pieces } from './pieces.ts'
import { beginReading, exact, tooLarge, type ReadingOptions } from './reading.ts'

/** Where frameworks leave what they made of a body. */
interface PreParsed {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** Reads the body of a request, or takes what a parser before us left of it. Never rejects. */
export function captureBody(request: IncomingMessage & PreParsed, options: ReadingOptions): Promise<Captured> {
  const announced = announcedLength(request)
  if (announced !== undefined && announced > options.maxBodyBytes)
    return Promise.resolve(tooLarge(`${announced} bytes were announced`, options))
  // The state of the stream decides, not `body`: Express 4's parser sets `{}` and leaves the stream unread.
  if (request.readableDidRead || request.readableEnded) return Promise.resolve(leftBefore(request, announced, options))
  if (request.readableEncoding !== null) return failed('body_already_read')
  if (request.destroyed) {
    const rest = unreadRest(request, createPieces())
    return rest === undefined || rest.length > options.maxBodyBytes
      ? failed('body_incomplete')
      : Promise.resolve(exact(rest))
  }
  return readStream(request, announced, options)
}

function readStream(
  request: IncomingMessage,
  announced: number | undefined,
  options: ReadingOptions,
): Promise<Captured> {
  return new Promise((resolve) => {
    const reading = beginReading(new NodeFlow(request), announced, options, (captured) => {
      request.off('data', reading.add)
      request.off('end', reading.end)
      request.off('error', onGone)
      request.off('close', onGone)
      resolve(captured)
    })
    function onGone(): void {
      // A client that left after its last byte has sent a whole callback.
      const rest = unreadRest(request, reading.pieces)
      if (rest === undefined || rest.length > options.maxBodyBytes) reading.gone()
      else reading.finish(exact(rest))
    }
    request.on('end', reading.end)
    request.on('error', onGone)
    request.on('close', onGone)
    request.on('data', reading.add)
    // Somebody before us may have paused it to look something up.
    request.resume()
  })
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
function leftBefore(request: PreParsed, announced: number | undefined, options: ReadingOptions): Captured {
  for (const candidate of [request.rawBody, request.body]) {
    const bytes = typeof candidate === 'string' ? Buffer.from(candidate) : candidate
    if (!(bytes instanceof Uint8Array)) continue
    if (bytes.length > options.maxBodyBytes) return tooLarge(`${bytes.length} bytes had been read`, options)
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

function failed(reason: CaptureFailure): Promise<Captured> {
  return Promise.resolve({ kind: 'failed', reason })
}
