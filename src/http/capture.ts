/**
 * The exact bytes of a body, whatever ran before us and however the client behaves. Contract, "Callback authenticity": the
 * signature is made over the raw body, so it is read before anything parses it.
 */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../clock.ts'
import type { Inflight } from './inflight.ts'
import { createPieces, type Pieces } from './pieces.ts'

export type Captured =
  /** The bytes as they were sent; `decoded` where a parser before us may have taken a content encoding off. */
  | { readonly kind: 'exact'; readonly bytes: Buffer; readonly decoded: boolean }
  /** A parser ran before us, and only what it made is left. */
  | { readonly kind: 'parsed'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly reason: CaptureFailure; readonly detail?: string }

export type CaptureFailure = 'body_too_large' | 'body_too_slow' | 'body_incomplete' | 'body_already_read'

export interface CaptureOptions {
  readonly maxBodyBytes: number
  /** For the whole body, not between its parts. */
  readonly bodyTimeoutMs: number
  readonly inflight: Inflight
  readonly clock: Clock
}

/** Where frameworks leave what they made of a body. */
interface PreParsed {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** Reads the body of a request, or takes what a parser before us left of it. Never rejects. */
export function captureBody(request: IncomingMessage & PreParsed, options: CaptureOptions): Promise<Captured> {
  const announced = announcedLength(request)
  if (announced !== undefined && announced > options.maxBodyBytes)
    return failed('body_too_large', `${announced} bytes were announced${limitOf(options)}`)
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
  { maxBodyBytes, bodyTimeoutMs, inflight, clock }: CaptureOptions,
): Promise<Captured> {
  return new Promise((resolve) => {
    const pieces = createPieces()
    let length = 0
    const reader = inflight.enter(request, announced, () =>
      finish(tooSlow('others waited for its room (`maxInflightBytes`)')),
    )
    let cancelDeadline = clock.setTimer(onDeadline, bodyTimeoutMs)
    function onDeadline(): void {
      const waitedMs = inflight.waitedMs(reader)
      if (waitedMs > 0) cancelDeadline = clock.setTimer(onDeadline, waitedMs)
      else finish(tooSlow(`\`bodyTimeoutMs\` is ${bodyTimeoutMs}`))
    }
    function tooSlow(why: string): Captured {
      return { kind: 'failed', reason: 'body_too_slow', detail: `${arrived(length, announced)}, and ${why}.` }
    }
    function onData(piece: Buffer): void {
      length += piece.length
      if (length > maxBodyBytes) {
        const detail = `${length} bytes had arrived, and more may come${limitOf({ maxBodyBytes })}`
        finish({ kind: 'failed', reason: 'body_too_large', detail })
        return
      }
      pieces.add(piece)
      inflight.add(reader, piece.length)
    }
    function onEnd(): void {
      if (announced !== undefined && announced !== length) finish(incomplete(length, announced))
      else finish(exact(pieces.whole()))
    }
    function onGone(): void {
      // A client that left after its last byte has sent a whole callback.
      const rest = unreadRest(request, pieces)
      finish(rest === undefined || rest.length > maxBodyBytes ? incomplete(length, announced) : exact(rest))
    }
    /** May be called again by whatever ends later; the first call decides. */
    function finish(captured: Captured): void {
      cancelDeadline()
      request.off('data', onData)
      request.off('end', onEnd)
      request.off('error', onGone)
      request.off('close', onGone)
      inflight.release(reader)
      resolve(captured)
    }
    request.on('end', onEnd)
    request.on('error', onGone)
    request.on('close', onGone)
    request.on('data', onData)
    // Somebody before us may have paused it to look something up.
    request.resume()
  })
}

/** Whatever a parser before us left, if its bytes are those that were announced. */
function leftBefore(request: PreParsed, announced: number | undefined, options: CaptureOptions): Captured {
  for (const candidate of [request.rawBody, request.body]) {
    const bytes = typeof candidate === 'string' ? Buffer.from(candidate) : candidate
    if (!(bytes instanceof Uint8Array)) continue
    if (bytes.length > options.maxBodyBytes)
      return {
        kind: 'failed',
        reason: 'body_too_large',
        detail: `${bytes.length} bytes had been read${limitOf(options)}`,
      }
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

function failed(reason: CaptureFailure, detail?: string): Promise<Captured> {
  return Promise.resolve(detail === undefined ? { kind: 'failed', reason } : { kind: 'failed', reason, detail })
}

function limitOf({ maxBodyBytes }: Pick<CaptureOptions, 'maxBodyBytes'>): string {
  return `; \`maxBodyBytes\` is ${maxBodyBytes}.`
}

function incomplete(length: number, announced: number | undefined): Captured {
  return { kind: 'failed', reason: 'body_incomplete', detail: `${arrived(length, announced)}.` }
}

function arrived(length: number, announced: number | undefined): string {
  return announced === undefined ? `${length} bytes had arrived` : `${length} of ${announced} bytes had arrived`
}

function exact(bytes: Buffer, decoded = false): Captured {
  return { kind: 'exact', bytes, decoded }
}
