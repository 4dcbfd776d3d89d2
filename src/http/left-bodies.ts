/** Recovers a body that its stream no longer delivers: an earlier parser consumed it, or the client disconnected. */
import type { IncomingMessage } from 'node:http'
import type { Captured } from '../public/callback.ts'
import type { Bodies } from './reading.ts'

/** Where frameworks store a parsed body. */
export interface PreParsed {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** The body that an earlier parser left, if it has the announced length. */
export function leftBefore(request: PreParsed, announced: number | undefined, bodies: Bodies): Captured {
  for (const candidate of [request.rawBody, request.body]) {
    const bytes = typeof candidate === 'string' ? Buffer.from(candidate) : candidate
    if (!(bytes instanceof Uint8Array)) continue
    const refused = bodies.tooLarge(bytes.length, 'had been read')
    if (refused !== undefined) return refused
    // Decoding text may have changed its bytes. A Buffer is at most decompressed, which the check of the proof detects.
    if (typeof candidate === 'string' && announced !== undefined && bytes.length !== announced) continue
    return { kind: 'exact', bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), decoded: true }
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

/** Reads the body of a disconnected client from the buffer of the stream. Undefined if it is incomplete or too large. */
export function unreadRest(
  request: IncomingMessage,
  announced: number | undefined,
  pieces: Buffer[],
  bodies: Bodies,
): Captured | undefined {
  if (!request.complete) return undefined
  for (let piece: unknown = request.read(); piece instanceof Buffer; piece = request.read()) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  const isWhole = announced === undefined || announced === bytes.length
  return isWhole && bodies.tooLarge(bytes.length, 'had arrived') === undefined
    ? { kind: 'exact', bytes, decoded: false }
    : undefined
}
