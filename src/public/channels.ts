/**
 * The channels of `node:diagnostics_channel` on which a receiver says what it does, and what it says there. Each is published to
 * only where somebody listens. What was handed over has an older one of its own: see `HANDED_OVER_CHANNEL`.
 */
import type { RefusalCode } from './error-table.ts'
import type { CallbackKind, Schemas, WebhookEvent } from './events.ts'
import type { TraceContext } from './trace-context.ts'

/** The channel on which a receiver says what became of each callback, as it is answered. */
export const CALLBACK_CHANNEL = 'messaging-webhooks:callback'

/** What is published there. Nothing of it names a person. */
export interface CallbackMessage {
  /** What `createReceiver` returned. */
  readonly receiver: object
  /** The kind that the URL was mounted with. */
  readonly kind: CallbackKind | undefined
  /** `late`: older than a report of its message that was handed over. */
  readonly outcome: 'new' | 'duplicate' | 'late' | 'refused'
  /** Why it was refused. */
  readonly code?: RefusalCode
  /** The event's `id`, unless it was refused. */
  readonly eventId?: string
  /** Of a report. */
  readonly messageId?: string
}

/**
 * The name of the `tracingChannel` around each attempt at an event: `start` and `end`, and `asyncStart` and `asyncEnd` where a handler
 * returned a promise; `error` where one threw. What is bound to `start` with `bindStore` holds in the handlers.
 */
export const ATTEMPT_CHANNEL = 'messaging-webhooks:attempt'

/** What is published there: one object an attempt, which has `outcome` and `error` once they are known. */
export interface AttemptMessage<S extends Schemas = {}> {
  /** What `createReceiver` returned. */
  readonly receiver: object
  readonly event: WebhookEvent<S>
  /** 1 for the first time. */
  readonly attempt: number
  /** It was a dead letter, and is tried again because somebody asked for it. */
  readonly replay: boolean
  /** What the option `traceContext` said as the callback was taken, perhaps in another process. */
  readonly trace?: TraceContext
  /**
   * A subscriber of `start` may set it: the handlers are called in `run`, which it is to call once, at once. For a context that
   * `bindStore` cannot hold; who finds one that another has set calls that within its own.
   */
  within?: (run: () => void) => void
  /**
   * `lost`: another process may have taken it over meanwhile, so that this attempt counts for nothing. `put off`: a handler threw a
   * `RetryLater`, and none failed.
   */
  outcome?: 'succeeded' | 'failed' | 'lost' | 'put off'
  /** What the first handler threw that failed. */
  error?: unknown
}
