/**
 * Middleware for Express, Connect and node:http. Captures the exact bytes of a request, whatever ran before, passes them to
 * `receive`, and writes the answer. Contract, service.md#callback-authenticity: the signature covers the raw body.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2Stream } from 'node:http2'
import { Socket } from 'node:net'
import { systemClock, type Clock } from '../runtime/clock.ts'
import type { CallbackKind } from '../public/events.ts'
import { SIGNATURE_HEADER, type Captured, type ProofPolicy } from '../public/callback.ts'
import type { Flow } from './inflight.ts'
import { leftBefore, unreadRest, type PreParsed, type Bodies } from './reading.ts'
import { REPLIES, type CallbackAnswer } from './replies.ts'
import type { Intake } from './request.ts'
import type { KnownServer, Servers } from './servers.ts'

/** Mount it with `app.use(path, middleware)` or `app.post(path, middleware)`, or use it as a `node:http` listener. */
export type Middleware = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** The part of a receiver that adapters need. */
export interface MiddlewareReceiver {
  middleware(kind?: CallbackKind, options?: { readonly proof?: ProofPolicy | undefined }): Middleware
  close(): Promise<void>
}

interface NodeOptions extends Intake {
  /** Measures how long servers have been quiet. */
  readonly clock: Clock
  readonly servers: Pick<Servers, 'open' | 'see' | 'areWatched'>
  /** Called for every request, before it is read. */
  readonly onRequest: () => void
}

/** The system clock: answers must not wait for a test clock. */
const machine = systemClock()

/** A request that has been read. */
interface Answerable {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly server: KnownServer | undefined
  readonly isTooLarge: boolean
}

/** After a refusal the server reads at most this many bytes more, so that a client that is still sending sees the answer. */
const LINGER_BYTES = 8 * 1024 * 1024

/** Creates the middleware of one receiver. It counts pending requests and writes answers in batches. */
export function createNodeIntake(options: NodeOptions) {
  const { bodies, clock, servers, receive, traceContext, onRequest, failed } = options
  let underWay = 0
  /** When the last request was answered. Recorded while servers are watched. */
  let lastMs = -Infinity

  /**
   * Synchronous answers are written together at the end of the event loop turn, so that reading further requests is not
   * interrupted.
   */
  let ready: { readonly to: Answerable; readonly answer: CallbackAnswer }[] = []
  let isTurn = false

  function writeReady(): void {
    isTurn = false
    const answers = ready
    ready = []
    for (const { to, answer } of answers) finish(to, answer)
  }

  function finish({ request, response, server, isTooLarge }: Answerable, answer: CallbackAnswer): void {
    try {
      if (isTooLarge) {
        write(response, answer, true, false)
        discardThenEnd(request, response)
      } else {
        const isStopping = servers.areWatched || server?.listening === false
        // If the body has not ended, close the connection: Node would otherwise keep reading it.
        write(response, answer, isStopping || !request.readableEnded)
      }
    } catch (error) {
      failed(error)
      writeUnavailable(response)
    }
    underWay -= 1
    if (servers.areWatched) lastMs = clock.now()
  }

  function answerAnyway(to: Answerable, error: unknown): void {
    failed(error)
    finish(to, REPLIES.unavailable)
  }

  function receiveAndAnswer(
    { request, response, server }: Omit<Answerable, 'isTooLarge'>,
    kind: CallbackKind | undefined,
    policy: ProofPolicy,
  ): void {
    const arrivedAtMs = bodies.clock.now()
    const trace = traceContext?.()
    captureBody(request, bodies, (captured) => {
      const isTooLarge = captured.kind === 'failed' && captured.reason === 'body_too_large'
      const to: Answerable = { request, response, server, isTooLarge }
      try {
        const signatures = signaturesOf(request)
        const contentEncoding = request.headers['content-encoding']?.trim().toLowerCase()
        // Schedule this before the event is admitted, so that the answer is written before a handler starts, unless handlers
        // are already scheduled.
        if (!isTurn) machine.soon(writeReady)
        isTurn = true
        const callback = { kind, policy, signatures, contentEncoding, captured, arrivedAtMs, trace }
        const given = receive(callback)
        if (given instanceof Promise)
          given.then(
            (answer) => finish(to, answer),
            (error: unknown) => answerAnyway(to, error),
          )
        else ready.push({ to, answer: given })
      } catch (error) {
        answerAnyway(to, error)
      }
    })
  }

  /**
   * Reads and discards a bounded rest of the body. A client whose connection is reset while it sends never reads the answer.
   */
  function discardThenEnd(request: IncomingMessage, response: ServerResponse): void {
    // The body ended before the answer was written, and HTTP/2 keeps a stream open until its response ends.
    if (request.readableEnded) {
      response.end()
      return
    }
    let discarded = 0
    const cancel = bodies.clock.setTimer(end, bodies.bodyTimeoutMs)
    function end(): void {
      cancel()
      request.off('data', count)
      response.end()
      if (!request.readableEnded) stopStream(response)
    }
    function count(chunk: Buffer): void {
      discarded += chunk.length
      if (discarded > LINGER_BYTES) end()
    }
    request.once('end', end)
    request.once('close', end)
    request.on('error', () => {})
    request.on('data', count)
    request.resume()
  }

  return {
    /** Never calls `next` and never throws into the framework: every request is answered here, synchronously if possible. */
    middleware:
      (kind: CallbackKind | undefined, policy: ProofPolicy): Middleware =>
      (request, response) => {
        underWay += 1
        try {
          const { socket } = request
          const of: unknown = 'server' in socket ? socket.server : undefined
          const server = servers.open.get(of) ?? servers.see(of)
          onRequest()
          if (request.method === 'POST') receiveAndAnswer({ request, response, server }, kind, policy)
          else finish({ request, response, server, isTooLarge: false }, REPLIES.method_not_allowed)
        } catch (error) {
          answerAnyway({ request, response, server: undefined, isTooLarge: false }, error)
        }
      },
    /** While the receiver closes: milliseconds since the last request ended. */
    quietMs: (): number => (underWay > 0 ? 0 : clock.now() - lastMs),
  }
}

/** Other code may have patched the response so that writing throws. */
function writeUnavailable(response: ServerResponse): void {
  try {
    write(response, REPLIES.unavailable, true)
  } catch {
    response.destroy()
  }
}

function write(response: ServerResponse, answer: CallbackAnswer, closes: boolean, ends = true): void {
  if (response.headersSent || response.destroyed) return
  response.statusCode = answer.status
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value)
  if (closes) response.shouldKeepAlive = false
  if (ends) {
    response.end(answer.body)
    if (closes && !response.req.readableEnded) stopStream(response)
  } else if (answer.body !== undefined) response.write(answer.body)
}

/** HTTP/2 responses have a stream. */
function isHttp2(response: ServerResponse): response is ServerResponse & { readonly stream: Http2Stream } {
  return 'stream' in response
}

/** Tells an HTTP/2 client, after the answer, to stop sending its request (RFC 9113, section 8.1). */
function stopStream(response: ServerResponse): void {
  if (isHttp2(response)) response.stream.close(NO_ERROR)
}

/** `http2.constants.NGHTTP2_NO_ERROR`, without loading HTTP/2. */
const NO_ERROR = 0

/** All values of the signature header. Node joins repeated headers with `, `, so a value without it is the only one. */
function signaturesOf({ headers, rawHeaders }: IncomingMessage): readonly string[] {
  const value = headers[SIGNATURE_HEADER]
  if (typeof value !== 'string') return []
  if (!value.includes(', ')) return [value]
  // `rawHeaders` alternates names and values. HTTP/2 requests have no `headersDistinct`.
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === SIGNATURE_HEADER)
  return values.length === 0 ? [value] : values
}

/** Reads the body, or takes what an earlier parser left. Calls `done` once, possibly synchronously. */
function captureBody(request: IncomingMessage & PreParsed, bodies: Bodies, done: (captured: Captured) => void): void {
  const length = request.headers['content-length']
  const announced = length === undefined ? undefined : Number(length)
  const refused = bodies.tooLarge(announced, 'were announced')
  if (refused !== undefined) done(refused)
  // Decide by the state of the stream, not by `body`: Express 4's parser sets `{}` and leaves the stream unread.
  else if (request.readableDidRead || request.readableEnded) done(leftBefore(request, announced, bodies))
  else if (request.destroyed)
    done(unreadRest(request, announced, [], bodies) ?? { kind: 'failed', reason: 'body_incomplete' })
  else {
    const reading = bodies.begin(() => flowOf(request), announced, done)
    const onGone = (): void => {
      if (reading.isFinished) return
      // A client that disconnected after its last byte has sent a complete callback.
      const rest = unreadRest(request, announced, [reading.bytes.subarray(0, reading.length)], bodies)
      if (rest === undefined) bodies.gone(reading)
      else bodies.finish(reading, rest)
    }
    // The listeners stay: they do nothing once the body has been read, and removing them costs as much as adding them.
    // Earlier middleware may have called `setEncoding`. Text of an encoding gives its bytes back, unless they were invalid in it.
    const encoding = request.readableEncoding
    request.on('end', () => bodies.end(reading, encoding))
    request.on('error', onGone)
    request.on('close', onGone)
    request.on('data', (piece: Buffer | string) =>
      bodies.add(reading, typeof piece === 'string' ? Buffer.from(piece, encoding ?? 'utf8') : piece),
    )
    // Earlier middleware may have paused the request.
    request.resume()
  }
}

/** Pauses request and connection. A paused request alone keeps reading up to the stream's own limit. */
function flowOf(request: IncomingMessage): Flow {
  const { httpVersionMajor, socket } = request
  // With HTTP/2, other requests share the connection.
  const connection = httpVersionMajor === 1 && socket instanceof Socket ? socket : undefined
  return {
    pause() {
      request.pause()
      connection?.pause()
    },
    resume() {
      request.resume()
      connection?.resume()
    },
  }
}
