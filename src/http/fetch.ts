/**
 * For every server that speaks `Request` and `Response`: Hono, Next.js, SvelteKit, Bun, Deno and others.
 *
 * @module messaging-webhooks/fetch
 */
import '../runtime/supported-node.ts'
import type { CallbackKind } from '../public/events.ts'
import { checkMount, type MountOptions } from './check-request.ts'
import type { RequestReceiver } from './request.ts'

/** Resolves to the answer of a request. Never rejects. */
export type FetchHandler = (request: Request, context?: object) => Promise<Response>

/** The fields that a handler uses of what a platform passes with the request. */
export interface FetchContext {
  /** Keeps the platform from freezing the process until this promise resolves: after the first attempt of the handlers. */
  waitUntil?(work: Promise<unknown>): unknown
}

/** `.text()` drops a BOM and replaces invalid UTF-8, after which no signature can be checked. */
const FIX =
  'Call the handler before other code reads the body with `.json()`, `.text()` or the like, or pass `request.clone()` to that code.'

/**
 * Creates the handler for the callbacks of one URL. `kind` is the callback type registered for it; without one, delivery
 * reports are recognised by their shape. `proof` overrides the receiver's option for this URL. The second argument of the
 * handler may be any object; it calls its `waitUntil`, if it has one. Throws an `OptionsError` for an unknown kind, policy or
 * option. Contract, service.md#callback-receiver.
 */
export function receiverHandler(
  receiver: RequestReceiver,
  kind?: CallbackKind,
  options: MountOptions = {},
): FetchHandler {
  checkMount('receiverHandler', kind, options)
  const { proof } = options
  return async (request, context: FetchContext = {}) => {
    const { method, headers, body, bodyUsed } = request
    const answer = await receiver.receive({
      kind,
      proof,
      method,
      headers,
      body: bodyUsed || body?.locked === true ? { parsed: undefined, fix: FIX } : body && piecesOf(body),
      waitUntil: typeof context.waitUntil === 'function' ? (work) => void context.waitUntil?.(work) : undefined,
    })
    return new Response(answer.body ?? null, answer)
  }
}

/**
 * Uses a reader, because a stream's iterator cannot be abandoned while it waits. Releases the reader without cancelling: under
 * SvelteKit, cancelling destroys the connection before the answer is sent.
 */
function piecesOf(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const reader = body.getReader()
      return {
        next: () => reader.read(),
        return() {
          reader.releaseLock()
          return Promise.resolve({ done: true, value: undefined })
        },
      }
    },
  }
}
