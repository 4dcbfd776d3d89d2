/** Express, Connect and node:http: capture the body, call the receive that was handed in, write its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallbackKind } from '../events.ts'
import { SIGNATURE_HEADER, type ArrivedCallback, type Captured, type ProofPolicy } from '../callback.ts'
import { captureBody } from './capture.ts'
import type { Bodies } from './reading.ts'
import { answerOf, type Answer } from './replies.ts'

/** What is mounted: `app.use(path, it)`, `app.post(path, it)`, a Router, Connect, or a `node:http` listener. */
export type Middleware = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

interface NodeOptions {
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  readonly bodies: Bodies
  readonly receive: (callback: ArrivedCallback) => Answer | Promise<Answer>
  /** Called with every request, before it is read. */
  readonly seen: (request: IncomingMessage) => void
  /** Called when it has been answered. */
  readonly answered: () => void
  /** Something threw that never should; the request is answered all the same. */
  readonly failed: (error: unknown) => void
  /** True when the connection shall not be used again. */
  readonly isClosing: (request: IncomingMessage) => boolean
}

/** After a refusal the server reads at most this much more, so that a client that is still sending sees the answer. */
const LINGER_BYTES = 8 * 1024 * 1024

/**
 * Never calls `next`, and never throws into the framework: every request is answered here. Without a promise where the
 * answer needs none.
 */
export function nodeMiddleware(options: NodeOptions): Middleware {
  const { kind, policy, bodies, receive, seen, answered, failed, isClosing } = options
  const { clock } = bodies

  function answerAnyway(response: ServerResponse, error: unknown): void {
    failed(error)
    writeUnavailable(response)
    answered()
  }

  function receiveAndAnswer(request: IncomingMessage, response: ServerResponse): void {
    const arrivedAtMs = clock.now()
    // Once the connection has gone, it cannot be told any more.
    const { remoteAddress } = request.socket
    captureBody(request, bodies, (captured) => {
      function finish(given: Answer): void {
        try {
          respond(request, response, captured, given)
        } catch (error) {
          answerAnyway(response, error)
          return
        }
        answered()
      }
      try {
        const received = receive({
          kind,
          policy,
          signatures: signaturesOf(request),
          contentEncoding: request.headers['content-encoding']?.trim().toLowerCase(),
          captured,
          arrivedAtMs,
          remoteAddress,
        })
        if (received instanceof Promise) received.then(finish, (error: unknown) => answerAnyway(response, error))
        else finish(received)
      } catch (error) {
        answerAnyway(response, error)
      }
    })
  }

  function respond(request: IncomingMessage, response: ServerResponse, captured: Captured, given: Answer): void {
    if (captured.kind === 'failed' && captured.reason === 'body_too_large') {
      write(response, given, true, false)
      discardThenEnd(request, response)
    } else {
      // Before the body's end the connection is of no more use: Node would read the rest for ever.
      write(response, given, isClosing(request) || !request.readableEnded)
    }
  }

  /** A client that is reset while it sends never reads the answer, so a bounded rest is read and thrown away. */
  function discardThenEnd(request: IncomingMessage, response: ServerResponse): void {
    let discarded = 0
    const cancel = clock.setTimer(end, bodies.bodyTimeoutMs)
    function end(): void {
      cancel()
      request.off('data', count)
      response.end()
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

  return (request, response) => {
    try {
      seen(request)
      if (request.method === 'POST') {
        receiveAndAnswer(request, response)
        return
      }
      write(response, answerOf('method_not_allowed'), true)
    } catch (error) {
      answerAnyway(response, error)
      return
    }
    answered()
  }
}

/** What others hang on to a response may throw as it is written. */
function writeUnavailable(response: ServerResponse): void {
  try {
    write(response, answerOf('unavailable'), true)
  } catch {
    response.destroy()
  }
}

function write(response: ServerResponse, answer: Answer, closes: boolean, ends = true): void {
  if (response.headersSent || response.destroyed) return
  response.statusCode = answer.status
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value)
  if (closes) response.setHeader('connection', 'close')
  if (ends) response.end(answer.body)
  else if (answer.body !== undefined) response.write(answer.body)
}

/** All values of the header. Node joins repeated headers with `, `, so only such a value is worth a second look. */
function signaturesOf(request: IncomingMessage): readonly string[] {
  const value = request.headers[SIGNATURE_HEADER]
  if (typeof value === 'string' && !value.includes(', ')) return [value]
  return request.headersDistinct[SIGNATURE_HEADER] ?? []
}
