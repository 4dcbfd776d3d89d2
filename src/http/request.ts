/** A request of any framework, in plain parts: what `receiver.receive` takes, and how its headers and body are read. */
import { SIGNATURE_HEADER, type ArrivedCallback, type Captured, type ProofPolicy } from '../public/callback.ts'
import type { CallbackKind } from '../public/events.ts'
import type { TraceContext } from '../public/trace-context.ts'
import type { Flow } from './inflight.ts'
import type { Bodies } from './reading.ts'
import { REPLIES, type Answer } from './replies.ts'

/** One POST of the messaging service, whatever framework it came through. Contract, service.md#callback-receiver. */
export interface CallbackRequest {
  /** The callback type registered for this URL; without one, delivery reports are recognised by their shape. */
  readonly kind?: CallbackKind | undefined
  /** Which proofs this URL needs; the option `proof` by default. */
  readonly proof?: ProofPolicy | undefined
  readonly method: string
  /** A plain record, whose values may be lists, or anything that gives pairs: `Headers`, a `Map`, a list of pairs. */
  readonly headers: RequestHeaders
  /**
   * The bytes as they were sent, whole or as they come (a web stream, a Node stream), or `{ parsed }` where a parser left
   * nothing else: then a signature cannot be checked. `{ parsed: undefined }` says that nothing is left. None is an empty body.
   */
  readonly body?: RequestBody | null | undefined
  /** The address of whoever sent it, which helps the quarantine to keep what forgers would crowd out. */
  readonly remoteAddress?: string | undefined
  /**
   * For a platform that freezes the process once it has answered: called before the answer, where this callback brought a new
   * event, with a promise that resolves when its handlers have been attempted once, or after `handlerTimeoutMs`. It never
   * rejects.
   */
  readonly waitUntil?: ((attempted: Promise<void>) => void) | undefined
}

/** Headers as a record, or as pairs; a header that was sent twice is there twice, or has a list of values. */
export type RequestHeaders =
  Readonly<Record<string, string | readonly string[] | undefined>> | Iterable<readonly [name: string, value: string]>

/**
 * A body: its bytes, whole or as a stream, or what a parser made of it where it left no bytes; `fix` says in a sentence how to
 * mend that in this framework, and stands in the error that `onError` hears.
 */
export type RequestBody =
  Uint8Array | AsyncIterable<Uint8Array> | { readonly parsed: unknown; readonly fix?: string | undefined }

/** What to answer, as it stands; a `connection` among the headers is for servers whose connections are their own. */
export interface CallbackAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Absent where the answer has none. */
  readonly body: string | undefined
}

/** A receiver, as far as what carries requests to it needs to know. */
export interface RequestReceiver {
  receive(request: CallbackRequest): Promise<CallbackAnswer>
}

interface RequestOptions {
  readonly bodies: Bodies
  /** Where the request does not say which proofs it needs. */
  readonly policy: ProofPolicy
  readonly receive: (callback: ArrivedCallback) => Answer | Promise<Answer>
  /** Asked as a request begins; never throws. */
  readonly traceContext: (() => TraceContext | undefined) | undefined
  /** Something threw that never should; the request is answered all the same. */
  readonly failed: (error: unknown) => void
}

/** Never rejects: every request has its answer. */
export async function receiveRequest(request: CallbackRequest, options: RequestOptions): Promise<CallbackAnswer> {
  try {
    const { status, headers, body } = await answerTo(request, options)
    return { status, headers: { ...headers }, body }
  } catch (error) {
    options.failed(error)
    return REPLIES.unavailable
  }
}

async function answerTo(request: CallbackRequest, options: RequestOptions): Promise<Answer> {
  if (request.method.toUpperCase() !== 'POST') return closing(REPLIES.method_not_allowed)
  const arrivedAtMs = options.bodies.clock.now()
  const trace = options.traceContext?.()
  const { signatures, contentEncoding, announced } = describeHeaders(request.headers)
  const captured = await readBody(request.body, announced, options.bodies)
  const { kind, proof: policy = options.policy, remoteAddress, waitUntil } = request
  const answer = await options.receive({
    kind,
    policy,
    signatures,
    contentEncoding,
    captured,
    arrivedAtMs,
    trace,
    remoteAddress,
    waitUntil,
  })
  return captured.kind === 'failed' && captured.reason !== 'body_already_read' ? closing(answer) : answer
}

/** Before the body's end the connection is of no more use: a server would read the rest for ever. */
function closing(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, connection: 'close' } }
}

/** The headers that count, read once. */
interface Described {
  readonly signatures: readonly string[]
  readonly contentEncoding: string | undefined
  readonly announced: number | undefined
}

/** Names count without regard to case; a header that comes twice is seen twice. */
function describeHeaders(headers: RequestHeaders): Described {
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
        // What is no number announces nothing: the body's own end decides.
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

/** Reads the body within the bounds; resolves to why not where it breaks one. Never rejects. */
function readBody(
  body: CallbackRequest['body'],
  announced: number | undefined,
  bodies: Bodies,
): Promise<Captured> | Captured {
  if (body === undefined || body === null) return { kind: 'exact', bytes: Buffer.alloc(0), decoded: false }
  if (body instanceof Uint8Array) {
    if (body.length > bodies.maxBodyBytes) return bodies.tooLarge(`${body.length} bytes were given`)
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    return { kind: 'exact', bytes, decoded: false }
  }
  if (!(Symbol.asyncIterator in body)) {
    const { parsed, fix } = body
    return parsed === undefined
      ? { kind: 'failed', reason: 'body_already_read', detail: fix }
      : { kind: 'parsed', value: parsed, detail: fix }
  }
  if (announced !== undefined && announced > bodies.maxBodyBytes)
    return bodies.tooLarge(`${announced} bytes were announced`)
  const pieces = iteratorOf(body)
  return pieces === undefined ? { kind: 'failed', reason: 'body_already_read' } : readPieces(pieces, announced, bodies)
}

function readPieces(
  pieces: AsyncIterator<Uint8Array>,
  announced: number | undefined,
  bodies: Bodies,
): Promise<Captured> {
  return new Promise((resolve) => {
    const gate = createGate()
    function finished(captured: Captured): void {
      gate.resume()
      // Whoever still sends is told that nobody reads.
      if (captured.kind === 'failed') letGo(pieces)
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
            bodies.end(reading)
            return
          }
          const { value } = next
          if (!(value instanceof Uint8Array)) {
            bodies.finish(reading, { kind: 'failed', reason: 'body_already_read' })
            return
          }
          bodies.add(reading, Buffer.from(value.buffer, value.byteOffset, value.byteLength))
        }
      } catch {
        // A client that left, mostly; what was read so far proves nothing.
        bodies.gone(reading)
      }
    }
    void read()
  })
}

/** Undefined for a stream that somebody else is reading. */
function iteratorOf(body: AsyncIterable<Uint8Array>): AsyncIterator<Uint8Array> | undefined {
  try {
    return body[Symbol.asyncIterator]()
  } catch {
    return undefined
  }
}

interface Gate extends Flow {
  /** Undefined while it is open. */
  readonly opened: Promise<void> | undefined
}

/** Whoever is not asked for more sends no more: that is all that is known of an iterable. */
function createGate(): Gate {
  let opened: Promise<void> | undefined
  let open = (): void => {}
  return {
    get opened() {
      return opened
    },
    pause() {
      opened ??= new Promise((resolve) => (open = resolve))
    },
    resume() {
      opened = undefined
      open()
    },
  }
}

/** An iterator may be without `return`, and what it returns may reject. */
function letGo(pieces: AsyncIterator<Uint8Array>): void {
  try {
    void pieces.return?.().catch(() => {})
  } catch {
    // Nothing is left to do with it.
  }
}

function isIterable(headers: RequestHeaders): headers is Iterable<readonly [string, string]> {
  return typeof Reflect.get(headers, Symbol.iterator) === 'function'
}
