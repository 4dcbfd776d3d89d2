/**
 * The channels of `node:diagnostics_channel` on which a receiver reports what it does, and their messages. Nothing is published
 * without subscribers.
 */
import type { RefusalCode } from './error-table.ts'
import type { CallbackKind, CallbackSchemas, WebhookEvent } from './events.ts'
import type { TraceContext } from './callback.ts'

/** The channel of callbacks, published with the response. */
export const CALLBACK_CHANNEL = 'messaging-webhooks:callback'

/** Its message. Contains nothing that identifies a person. */
export interface CallbackMessage {
  /** The result of `createReceiver`. */
  readonly receiver: object
  /** The kind of the URL. */
  readonly kind: CallbackKind | undefined
  /** `late`: older than a dispatched report of its message. */
  readonly outcome: 'new' | 'duplicate' | 'late' | 'refused'
  /** Why it was refused. */
  readonly code?: RefusalCode
  /** The event's `id`, unless it was refused. */
  readonly eventId?: string
  /** Reports only. */
  readonly messageId?: string
}

/**
 * The name of the `tracingChannel` around each attempt at an event: `start` and `end`, `asyncStart` and `asyncEnd` if a handler
 * returned a promise, `error` if one threw. A context bound to `start` with `bindStore` is active in the handlers.
 */
export const ATTEMPT_CHANNEL = 'messaging-webhooks:attempt'

/**
 * Its message: one object per attempt, which gets `outcome` and `error` at the end. `S` are the schemas of the receiver, which
 * type the event.
 */
export interface AttemptMessage<S extends CallbackSchemas = {}> {
  /** The result of `createReceiver`. */
  readonly receiver: object
  readonly event: WebhookEvent<S>
  /** 1 for the first attempt. */
  readonly attempt: number
  /** The event was a dead letter and is being replayed. */
  readonly replay: boolean
  /** The result of the option `traceContext` when the callback was accepted, perhaps in another process. */
  readonly trace?: TraceContext
  /**
   * A subscriber of `start` may set it to run the handlers in a context that `bindStore` cannot hold. It must call `run` once,
   * synchronously. If it is set already, call the existing function within your own.
   */
  within?: (run: () => void) => void
  /**
   * `lost`: another process may have taken over the event, so this attempt does not count. `put off`: a handler threw a
   * `RetryLater`, and none failed. `unhandled`: no handler listens to the type of the event.
   */
  outcome?: 'succeeded' | 'failed' | 'lost' | 'put off' | 'unhandled'
  /** The error of the first handler that failed. */
  error?: unknown
}
