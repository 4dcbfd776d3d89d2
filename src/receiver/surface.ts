/** The public surface of a receiver. Types only. */
import type { Server } from 'node:net'
import type { ProofPolicy } from '../public/callback.ts'
import type { Quarantine } from '../quarantine/surface.ts'
import type { Counts } from '../operations/counts.ts'
import type { DeadLetters } from '../dispatch/dead-letters.ts'
import type { DoctorReport } from '../operations/doctor/findings.ts'
import type { DoctorOptions } from '../operations/doctor/own-receiver.ts'
import type { HandlerContext } from '../dispatch/handlers.ts'
import type { Events } from '../dispatch/listed-events.ts'
import type {
  CallbackKind,
  EventMap,
  MetaOf,
  EventPattern,
  CallbackSchemas,
  TypesOf,
  WebhookEvent,
} from '../public/events.ts'
import type { Middleware } from '../http/node.ts'
import type { CallbackAnswer } from '../http/replies.ts'
import type { CallbackRequest } from '../http/request.ts'
import type { Sends } from '../sends/surface.ts'
import type { StoreWorker } from '../inbox/availability.ts'
import type { ForgetOptions, ForgetSelector } from '../operations/erasure/selector.ts'
import type { ErasureCounts } from '../operations/erasure/forget.ts'
import type { MessageState } from '../inbox/latest.ts'
import type { ErrorHandler } from '../runtime/reporter.ts'
import type { ReceiverHealth } from '../operations/health.ts'

/**
 * A handler. The event is settled when it returns, or when the promise that it returns resolves, with any value. An error or
 * rejection causes a retry.
 */
export type EventHandler<E, X extends object = {}> = (event: E, context: HandlerContext & X) => unknown

/** Counts since the receiver was created, and current totals of the store. */
export interface ReceiverStats extends Counts {
  /** Events dispatched without a handler for their type. They are settled. */
  readonly unhandled: number
  /** Events with running handlers, or waiting for a slot, in this process. */
  readonly running: number
  /** `unavailable`: the store failed or did not answer in time, so its totals are unknown. */
  readonly store: 'up' | 'unavailable' | 'closed'
  /** Events in the spool, on their way to the store. */
  readonly spooled: number
  /** Events not settled, in the store or on their way to it. Undefined if unknown. */
  readonly unsettled: number | undefined
  /** Dead letters in the store. Undefined if unknown. */
  readonly deadLetters: number | undefined
  /** The processes that have the store open, and their leases. Undefined if unknown. */
  readonly workers: readonly StoreWorker[] | undefined
}

/** Timing of `closeOnSignal`. */
export interface CloseOnSignalOptions {
  /** Maximum duration of the shutdown, as for `close()`. Default 10,000. */
  readonly deadlineMs?: number | undefined
  /** How long to keep listening after the signal, for load balancers that still send new connections. Default 0. */
  readonly listenMs?: number | undefined
  /** How long idle keep-alive connections stay open. Default 2,000. */
  readonly idleMs?: number | undefined
  /** Called and awaited after the receiver has closed. Close the resources of your handlers here. */
  readonly afterwards?: (() => unknown) | undefined
}

/** A receiver. `S` types the payloads, `X` is what the store adds to a handler's context. */
export interface Receiver<S extends CallbackSchemas = {}, X extends object = {}> {
  /**
   * Adds a handler for one event type, several, or a family (`'message.*'`), with the event typed accordingly. The handlers of
   * an event run in the order in which they were added. Returns a function that removes this one. Throws a
   * `MessagingWebhooksError` (`pattern_unknown`) for an unknown type, none or an empty list.
   */
  on<const P extends EventPattern>(
    pattern: P | readonly P[],
    handler: EventHandler<EventMap<S>[TypesOf<P>], X>,
  ): () => void
  /** Adds a handler for every event. */
  onAny(handler: EventHandler<WebhookEvent<S>, X>): () => void
  /**
   * Adds a handler for errors: refused requests, failing handlers, dead letters, a failing store. The reference lists the
   * codes.
   */
  onError(handler: ErrorHandler): () => void
  /**
   * The middleware for Express, Connect or node:http. Mount it before any body parser. `kind` is the callback type registered
   * for this URL; without it, delivery reports are recognised by their shape. `proof` overrides the option for this URL. Like
   * every method, throws or rejects with an `OptionsError` for invalid arguments. Contract, service.md#callback-receiver.
   */
  middleware(kind?: CallbackKind, options?: { readonly proof?: ProofPolicy | undefined }): Middleware
  /**
   * Receives a callback in any framework: takes the parts of a request, reads its body within the same limits, and resolves to
   * the response to send. Never rejects for a callback; rejects with an `OptionsError` for an invalid description of a request.
   * Contract, service.md#callback-receiver.
   */
  receive(request: CallbackRequest): Promise<CallbackAnswer>
  /**
   * Opens and checks the store and starts the dispatch, backlog first. Without it, the first request does. Resolves when
   * callbacks can be accepted: when the store is open or, if it is unavailable and there is a spool, immediately; opening then
   * continues. Without a spool it waits for the store, so you can call it after the server listens. Rejects with a
   * `MessagingWebhooksError` if retrying cannot help, for example `store_foreign`, `store_unmigrated` or `store_path_invalid`.
   * `onError` and the log receive that error too, and `health()` has the reason `start_failed`.
   */
  start(): Promise<void>
  /**
   * The latest state of a message. Undefined if it is unknown. With several projects or a credentials function, `project` is
   * required: throws a `MessagingWebhooksError` (`project_required`) without it.
   */
  messageState(
    messageId: string,
    options?: { readonly project?: string | undefined },
  ): Promise<MessageState<MetaOf<S>> | undefined>
  /** Stored events: lists them by filters, shows one, or lists those of a message in order. */
  readonly events: Events<S>
  /** Events whose handlers failed in every attempt: lists, shows, replays or discards them. */
  readonly deadLetters: DeadLetters<S>
  /** Requests refused for lack of a valid proof, kept to be verified again with the right key. */
  readonly quarantine: Quarantine
  /** What the app sends: records it, so that reports carry their send and missing reports are noticed, and accounts for it. */
  readonly sends: Sends<MetaOf<S>>
  /**
   * Erases what may identify a person, selected by message, recipient, time or your own criteria, from everything that this
   * receiver writes: payloads, bytes, errors, latest states and dead letters in the store, the spool and the quarantine of this
   * process. Identities stay, so a repetition is still a duplicate. Unsettled events become settled: no handler starts for
   * them, and the outcome of a running one is dropped. Returns what was erased. Events that arrive meanwhile may remain.
   * Rejects with a `MessagingWebhooksError`: `project_required` for a message id without `project` if there are several, or the
   * error of the store; then call it again.
   */
  forget(selector: ForgetSelector, options?: ForgetOptions): Promise<ErasureCounts>
  /**
   * Sends a signed probe to `url` as the service would, through any proxy in front, and returns what is wrong there and in this
   * app, and how to fix it. The probe reaches no handler and is not stored or counted. `project` selects the credential for
   * signing if there are several. Waits at most `timeoutMs` for the answer. Rejects with an `OptionsError` for an invalid URL or
   * a project without credentials, never for a finding. Contract, service.md#callback-receiver.
   */
  doctor(options: DoctorOptions): Promise<DoctorReport>
  /** Counts, for metrics. Never rejects, and waits at most `storeTimeoutMs` for the store. */
  stats(): Promise<ReceiverStats>
  /**
   * The health of this receiver: whether it is `live`, `ready` to keep callbacks, and `working` through its events, with reasons
   * if not. Never rejects. Asks the store only without a spool, at most once a second, and waits at most
   * `storeTimeoutMs` (5,000).
   */
  health(): Promise<ReceiverHealth>
  /**
   * Health for Kubernetes and load balancers, in Express, Connect or node:http: answers `GET /livez` and `GET /readyz`, below
   * its mount path, with 200 or 503 and a little JSON. Other requests go to `next`, or are answered 404.
   */
  healthMiddleware(): Middleware
  /**
   * Counts, durations and health in the text format of Prometheus (`text/plain; version=0.0.4`). Counts start when the receiver
   * is created. Durations are measured from the first call on, because measuring costs time. Never rejects, and waits at
   * most `storeTimeoutMs` for the store. Leaves out unknown values.
   */
  metrics(): Promise<string>
  /**
   * True when nothing runs, is due or waits. False after `deadlineMs` (10,000). Awaiting it inside a handler blocks until the
   * deadline.
   */
  drain(options?: { readonly deadlineMs?: number | undefined }): Promise<boolean>
  /**
   * Stops the dispatch (with a store in memory, after draining it), finishes running handlers, accepts callbacks until the
   * servers that it is mounted on have closed, then closes the store. Call `server.close()` first: for a server that still
   * listens it waits only until half a second has passed without a request. After `deadlineMs` (10,000) it aborts the handlers'
   * signals and closes the store anyway. Do not await it inside a handler: that blocks until the deadline.
   */
  close(options?: { readonly deadlineMs?: number | undefined }): Promise<void>
  /**
   * At the first of these signals: stops the servers (those given, and those that requests came from) without cutting off a
   * client, closes the receiver, and ends the process. The exit code is `process.exitCode` if you set it, otherwise 1 if events
   * were lost and 0 if not. At the second signal the process ends immediately, with 128 plus the number of the signal. Of
   * several receivers, the last one to close ends the process. Returns a function that undoes the call; `close()` does too.
   */
  closeOnSignal(
    signals: NodeJS.Signals | readonly NodeJS.Signals[],
    servers?: Server | readonly Server[],
    options?: CloseOnSignalOptions,
  ): () => void
}
