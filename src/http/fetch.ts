/**
 * For every server that speaks `Request` and `Response`: Hono, Next.js, SvelteKit, Bun, Deno and others.
 *
 * @module messaging-webhooks/fetch
 */
import type { CallbackKind } from '../public/events.ts'
import { checkMount, type MountOptions } from './mount-options.ts'
import type { RequestReceiver } from './request.ts'

/** Takes a request and resolves to its answer. It never rejects. */
export type FetchHandler = (request: Request, context?: object) => Promise<Response>

/** What a handler makes use of, where a platform or you hand it over beside the request. */
export interface FetchContext {
  /** A platform that freezes the process once it has answered waits for this: here, for the first attempt of the handlers. */
  waitUntil?(work: Promise<unknown>): unknown
  /** The address of whoever sent it, which helps the quarantine to keep what forgers would crowd out. */
  readonly remoteAddress?: string | undefined
}

/** Where `.text()` would drop a BOM and replace what is no UTF-8, nobody can prove the bytes any more. */
const FIX =
  'Call the handler before anything calls `.json()`, `.text()` or the like of this request, or let that have `request.clone()`.'

/**
 * Makes what answers the callbacks of one URL: `kind` is the callback type registered for it; without one, delivery reports are
 * recognised by their shape. `proof` overrides the receiver's option for this URL. What the handler is called with beside the
 * request may have anything in it, of which `FetchContext` is used.
 * Throws an `OptionsError` for a kind, a policy or an option that does not exist. Contract, service.md#callback-receiver.
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
      remoteAddress: typeof context.remoteAddress === 'string' ? context.remoteAddress : undefined,
      waitUntil: typeof context.waitUntil === 'function' ? (work) => void context.waitUntil?.(work) : undefined,
    })
    return new Response(answer.body ?? null, answer)
  }
}

/**
 * The iterator of a stream cannot let go of one that stands still; its reader can. It does not cancel it: that destroys the
 * connection under SvelteKit, and with it the answer.
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
