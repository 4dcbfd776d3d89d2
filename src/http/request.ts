/** Defines the framework-independent request of `receiver.receive`, and reads its headers and body. */
import {
  SIGNATURE_HEADER,
  type ArrivedCallback,
  type Captured,
  type ProofPolicy,
  type TraceContext,
} from '../public/callback.ts'
import type { CallbackKind } from '../public/events.ts'
import { bytesOf, type Bodies } from './reading.ts'
import { REPLIES, type CallbackAnswer } from './replies.ts'

/** One POST of the messaging service, from any framework. Contract, service.md#callback-receiver. */
export interface CallbackRequest {
  /** The callback type registered for this URL. Without one, delivery reports are recognised by their shape. */
  readonly kind?: CallbackKind | undefined
  /** The required proofs for this URL. Default: the option `proof`. */
  readonly proof?: ProofPolicy | undefined
  readonly method: string
  /** A plain record of strings or lists, or any iterable of pairs: `Headers`, a `Map`, a list. */
  readonly headers: RequestHeaders
  /**
   * The exact bytes, whole or as a web or Node stream; or `{ parsed }` if a parser left nothing else, in which case a signature
   * cannot be checked. `{ parsed: undefined }` means that nothing is left. Undefined is an empty body.
   */
  readonly body?: RequestBody | null | undefined
  /**
   * For platforms that freeze the process after the answer. Called before the answer if this callback brought a new event, with
   * a promise that resolves after the first attempt of its handlers or after `handlerTimeoutMs`. The promise never rejects.
   */
  readonly waitUntil?: ((attempted: Promise<void>) => void) | undefined
}

/** Headers as a record or as pairs. A repeated header appears as several pairs or as a list. */
export type RequestHeaders =
  Readonly<Record<string, string | readonly string[] | undefined>> | Iterable<readonly [name: string, value: string]>

/**
 * A body: its bytes, whole or as a stream, or the output of a parser. `fix` says in one sentence how to keep the bytes in this
 * framework. It becomes part of the error passed to `onError`.
 */
export type RequestBody =
  Uint8Array | AsyncIterable<Uint8Array> | { readonly parsed: unknown; readonly fix?: string | undefined }

/** The part of a receiver that adapters need. */
export interface RequestReceiver {
  receive(request: CallbackRequest): Promise<CallbackAnswer>
}

/** The parts that every adapter needs. */
export interface Intake {
  readonly bodies: Bodies
  readonly receive: (callback: ArrivedCallback) => CallbackAnswer | Promise<CallbackAnswer>
  /** Called when a request begins. Must not throw. */
  readonly traceContext: (() => TraceContext | undefined) | undefined
  /** Reports an unexpected error. The request is answered anyway. */
  readonly failed: (error: unknown) => void
}

/** `policy` is the receiver's default. */
type RequestOptions = Intake & { readonly policy: ProofPolicy }

/** Never rejects: every request gets an answer. */
export async function receiveRequest(request: CallbackRequest, options: RequestOptions): Promise<CallbackAnswer> {
  try {
    const { status, headers, body } = await answerTo(request, options)
    return { status, headers: { ...headers }, body }
  } catch (error) {
    options.failed(error)
    return REPLIES.unavailable
  }
}

async function answerTo(request: CallbackRequest, options: RequestOptions): Promise<CallbackAnswer> {
  if (request.method.toUpperCase() !== 'POST') return closing(REPLIES.method_not_allowed, request)
  const arrivedAtMs = options.bodies.clock.now()
  const trace = options.traceContext?.()
  const { signatures, contentEncoding, announced } = describeHeaders(request.headers)
  const captured = await readBody(request.body, announced, options.bodies)
  const { kind, proof: policy = options.policy, waitUntil } = request
  const given = { kind, policy, signatures, contentEncoding, captured, arrivedAtMs, trace, waitUntil }
  const answer = await options.receive(given)
  return captured.kind === 'failed' && captured.reason !== 'body_already_read' ? closing(answer, request) : answer
}

/** If a body has not ended, close the connection: a server would otherwise keep reading it. */
function closing(answer: CallbackAnswer, { body }: Pick<CallbackRequest, 'body'>): CallbackAnswer {
  // Node warns of this header over HTTP/2, so add it only if needed.
  if (body === undefined || body === null) return answer
  return { ...answer, headers: { ...answer.headers, connection: 'close' } }
}

/** Reads the relevant headers. Matches names case-insensitively and keeps repeated headers. */
function describeHeaders(headers: RequestHeaders) {
  const signatures: string[] = []
  let contentEncoding: string | undefined
  let announced: number | undefined
  function see(name: string, value: string): void {
    switch (name.toLowerCase()) {
      case SIGNATURE_HEADER:
        signatures.push(value)
        break
      case 'content-encoding':
        contentEncoding = value.trim().toLowerCase()
        break
      case 'content-length':
        // Ignore an invalid length: the end of the body decides.
        announced = /^\d+$/.test(value) ? Number(value) : undefined
    }
  }
  if (isIterable(headers)) for (const [name, value] of headers) see(name, value)
  else
    for (const [name, value] of Object.entries(headers)) {
      if (typeof value === 'string') see(name, value)
      else for (const each of value ?? []) see(name, each)
    }
  return { signatures, contentEncoding, announced }
}

/** Reads the body within the limits, or resolves to the limit that it broke. Never rejects. */
function readBody(
  body: CallbackRequest['body'],
  announced: number | undefined,
  bodies: Bodies,
): Promise<Captured> | Captured {
  if (body === undefined || body === null) return { kind: 'exact', bytes: Buffer.alloc(0), decoded: false }
  if (body instanceof Uint8Array) {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    return bodies.tooLarge(bytes.length, 'were given') ?? { kind: 'exact', bytes, decoded: false }
  }
  if (!(Symbol.asyncIterator in body)) {
    const { parsed, fix } = body
    return parsed === undefined
      ? { kind: 'failed', reason: 'body_already_read', detail: fix }
      : { kind: 'parsed', value: parsed, detail: fix }
  }
  const refused = bodies.tooLarge(announced, 'were announced')
  if (refused !== undefined) return refused
  const pieces = iteratorOf(body)
  return pieces === undefined
    ? { kind: 'failed', reason: 'body_already_read' }
    : readPieces(pieces, encodingOf(body), announced, bodies)
}

/** The encoding that a Node stream was set to. Null for a stream of bytes. */
function encodingOf(body: AsyncIterable<Uint8Array>): BufferEncoding | null {
  const encoding: unknown = Reflect.get(body, 'readableEncoding')
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : null
}

function readPieces(
  pieces: AsyncIterator<Uint8Array>,
  encoding: BufferEncoding | null,
  announced: number | undefined,
  bodies: Bodies,
): Promise<Captured> {
  return new Promise((resolve) => {
    const gate = createGate()
    function finished(captured: Captured): void {
      gate.resume()
      // Tell the sender that no one reads the rest.
      if (captured.kind === 'failed') abandon(pieces)
      resolve(captured)
    }
    const reading = bodies.begin(() => gate, announced, finished)
    async function read(): Promise<void> {
      try {
        for (;;) {
          await gate.opened
          const next = await pieces.next()
          if (reading.isFinished) return
          if (next.done === true) {
            bodies.end(reading, encoding)
            return
          }
          const piece = bytesOf(next.value, encoding)
          if (piece === undefined) {
            bodies.finish(reading, { kind: 'failed', reason: 'body_already_read' })
            return
          }
          bodies.add(reading, piece)
        }
      } catch {
        // Usually the client disconnected. An incomplete body proves nothing.
        bodies.gone(reading)
      }
    }
    void read()
  })
}

/** Undefined if something else reads the stream. */
function iteratorOf(body: AsyncIterable<Uint8Array>): AsyncIterator<Uint8Array> | undefined {
  try {
    return body[Symbol.asyncIterator]()
  } catch {
    return undefined
  }
}

/** Pauses an iterable by not requesting its next piece. */
function createGate() {
  let opened: Promise<void> | undefined
  let open = (): void => {}
  return {
    /** Undefined while it is open. */
    get opened() {
      return opened
    },
    pause(): void {
      opened ??= new Promise((resolve) => (open = resolve))
    },
    resume(): void {
      opened = undefined
      open()
    },
  }
}

/** An iterator may lack `return`, and the result may reject. */
function abandon(pieces: AsyncIterator<Uint8Array>): void {
  try {
    void pieces.return?.().catch(() => {})
  } catch {
    // There is nothing left to clean up.
  }
}

function isIterable(headers: RequestHeaders): headers is Iterable<readonly [string, string]> {
  return typeof Reflect.get(headers, Symbol.iterator) === 'function'
}
