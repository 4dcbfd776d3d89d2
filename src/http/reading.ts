/**
 * Reads a body within its limits of bytes and time, and in turn if many are read at once. Recovers a body that its stream no
 * longer delivers: an earlier parser consumed it, or the client disconnected.
 */
import type { IncomingMessage } from 'node:http'
import type { Captured } from '../public/callback.ts'
import type { Clock } from '../runtime/clock.ts'
import { parsedJson } from '../runtime/values.ts'
import type { Flow, Inflight, Reader } from './inflight.ts'

interface Bounds {
  readonly maxBodyBytes: number
  /** For the whole body, not between its parts. */
  readonly bodyTimeoutMs: number
  readonly inflight: Inflight
  readonly clock: Clock
}

export type Bodies = ReturnType<typeof createBodies>

/** A body being read. */
interface Reading {
  readonly flowOf: () => Flow
  readonly announced: number | undefined
  readonly finished: (captured: Captured) => void
  /** The received bytes, in the first `length` bytes of a buffer that grows. A body in one piece is not copied. */
  bytes: Buffer
  length: number
  /** Number of pieces received. */
  reads: number
  isFinished: boolean
  /** Undefined while no bytes are held that others might wait for: a small body usually arrives in one piece. */
  reader: Reader | undefined
  cancelDeadline: (() => void) | undefined
}

/**
 * Each piece costs more memory than its bytes, so the number of pieces is limited: at the maximum body size, to pieces of 128
 * bytes, a tenth of a packet.
 */
const SMALL_PIECE_BYTES = 128
const MIN_READS = 1_024

export function createBodies({ maxBodyBytes, bodyTimeoutMs, inflight, clock }: Bounds) {
  const mostReads = Math.max(MIN_READS, Math.ceil(maxBodyBytes / SMALL_PIECE_BYTES))
  /** Bodies without a deadline yet. Most bodies end before pending I/O is done; only the rest get a deadline. */
  let started: Reading[] = []

  function setDeadlines(): void {
    const late = started
    started = []
    for (const reading of late) if (!reading.isFinished) setDeadline(reading)
  }

  /** A body that had to wait for memory gets its time again. */
  function setDeadline(reading: Reading): void {
    reading.cancelDeadline = clock.setTimer(() => {
      if (reading.reader !== undefined && inflight.hasWaited(reading.reader)) setDeadline(reading)
      else tooSlow(reading, `\`bodyTimeoutMs\` is ${bodyTimeoutMs}`)
    }, bodyTimeoutMs)
  }

  function enter(reading: Reading): Reader {
    return (reading.reader = inflight.enter(reading.flowOf(), reading.announced, () =>
      tooSlow(reading, 'other requests waited for its memory (`maxInflightBytes`)'),
    ))
  }

  function tooSlow(reading: Reading, why: string): void {
    finish(reading, { kind: 'failed', reason: 'body_too_slow', detail: `${arrived(reading)}, and ${why}.` })
  }

  /** The refusal of a body of more than `maxBodyBytes`. */
  function tooLarge(bytes: number | undefined, what: string): Captured | undefined {
    if (bytes === undefined || !(bytes > maxBodyBytes)) return undefined
    const detail = `${bytes} bytes ${what}; \`maxBodyBytes\` is ${maxBodyBytes}.`
    return { kind: 'failed', reason: 'body_too_large', detail }
  }

  /** The connection ended before the body. */
  function gone(reading: Reading): void {
    finish(reading, { kind: 'failed', reason: 'body_incomplete', detail: `${arrived(reading)}.` })
  }

  /** May be called several times. The first call decides. */
  function finish(reading: Reading, captured: Captured): void {
    if (reading.isFinished) return
    reading.isFinished = true
    reading.cancelDeadline?.()
    if (reading.reader !== undefined) inflight.release(reading.reader)
    reading.finished(captured)
  }

  return {
    bodyTimeoutMs,
    clock,
    /**
     * `finished` is called once: with the body, with a broken limit, or with the argument of `finish`. `flowOf` is called if the
     * body may have to wait for others.
     */
    begin(flowOf: () => Flow, announced: number | undefined, finished: (captured: Captured) => void): Reading {
      const reading: Reading = {
        flowOf,
        announced,
        finished,
        bytes: NONE,
        length: 0,
        reads: 0,
        isFinished: false,
        reader: undefined,
        cancelDeadline: undefined,
      }
      if (announced !== undefined && announced > inflight.smallBytes) enter(reading)
      if (started.push(reading) === 1) clock.soon(setDeadlines)
      return reading
    },
    add(reading: Reading, piece: Buffer): void {
      if (reading.isFinished) return
      reading.length += piece.length
      reading.reads += 1
      if (reading.reads > mostReads) {
        tooSlow(reading, `in ${reading.reads} pieces; at most ${mostReads} are read`)
        return
      }
      const refused = tooLarge(reading.length, 'had arrived, and more may come')
      if (refused !== undefined) {
        finish(reading, refused)
        return
      }
      if (reading.reads === 1) reading.bytes = piece
      else append(reading, piece)
      if (reading.reader === undefined && reading.length === reading.announced) return
      inflight.add(reading.reader ?? enter(reading), piece.length)
    },
    /** `encoding`: that of the text from which the bytes were made. Null if they arrived as bytes. */
    end(reading: Reading, encoding: BufferEncoding | null = null): void {
      const { announced, length } = reading
      const bytes = reading.bytes.length === length ? reading.bytes : reading.bytes.subarray(0, length)
      const detail = encoding !== null && mayHaveReplaced(bytes, encoding) ? ENCODING_SET : undefined
      if (announced === undefined || announced === length)
        finish(reading, { kind: 'exact', bytes, decoded: false, detail })
      else if (encoding === null) gone(reading)
      // The decoder replaced bytes that are not in its encoding. What it left is parsed, and an authKey can still prove it.
      else finish(reading, { kind: 'parsed', value: parsedJson(bytes.toString()), detail: ENCODING_SET })
    },
    gone,
    finish,
    tooLarge,
  }
}

const ENCODING_SET = 'The encoding of the request was set before the receiver. Remove the call of `setEncoding`.'

/** Whether the decoder may have replaced bytes by others of the same length, which only a proof can tell from the body as sent. */
function mayHaveReplaced(bytes: Buffer, encoding: BufferEncoding): boolean {
  return encoding === 'ascii' || (encoding === 'utf8' && bytes.includes('\uFFFD'))
}

/** A piece of a stream as bytes: a stream with an encoding delivers text. Undefined for anything else. */
export function bytesOf(piece: unknown, encoding: BufferEncoding | null): Buffer | undefined {
  if (typeof piece === 'string') return Buffer.from(piece, encoding ?? 'utf8')
  if (!(piece instanceof Uint8Array)) return undefined
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
}

function arrived({ announced, length }: Reading): string {
  return announced === undefined ? `${length} bytes had arrived` : `${length} of ${announced} bytes had arrived`
}

const NONE = Buffer.alloc(0)
const MIN_BYTES = 1_024

/** Appends a piece. `length` already includes it. Separate pieces would cost far more memory than their bytes. */
function append(reading: Reading, piece: Buffer): void {
  const { bytes, length } = reading
  const before = length - piece.length
  if (length <= bytes.length) bytes.set(piece, before)
  else {
    reading.bytes = Buffer.allocUnsafe(Math.max(MIN_BYTES, 2 * length))
    reading.bytes.set(bytes.subarray(0, before))
    reading.bytes.set(piece, before)
  }
}

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
  if (typeof body === 'string') return { kind: 'parsed', value: parsedJson(body) }
  return body === undefined || body === null
    ? { kind: 'failed', reason: 'body_already_read' }
    : { kind: 'parsed', value: body }
}

/** Reads the body of a disconnected client from the buffer of the stream. Undefined if it is incomplete or too large. */
export function unreadRest(
  request: IncomingMessage,
  announced: number | undefined,
  pieces: Buffer[],
  bodies: Bodies,
): Captured | undefined {
  if (!request.complete) return undefined
  const read = (): Buffer | undefined => bytesOf(request.read(), request.readableEncoding)
  for (let piece = read(); piece !== undefined; piece = read()) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  const isWhole = announced === undefined || announced === bytes.length
  return isWhole && bodies.tooLarge(bytes.length, 'had arrived') === undefined
    ? { kind: 'exact', bytes, decoded: false }
    : undefined
}
