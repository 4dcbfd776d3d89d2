/** The public surface: what users hold in their hands. Types only. */
import type { Server } from 'node:net'
import type { ProofPolicy } from '../public/callback.ts'
import type { Quarantine } from '../quarantine/surface.ts'
import type { CloseOnSignalOptions } from './close-on-signal.ts'
import type { Counts } from '../operations/counts.ts'
import type { DeadLetters } from '../dispatch/dead-letters.ts'
import type { Diagnosis } from '../operations/doctor/findings.ts'
import type { DoctorOptions } from '../operations/doctor/own-receiver.ts'
import type { Context } from '../dispatch/handlers.ts'
import type { Events } from '../dispatch/listed-events.ts'
import type { CallbackKind, EventMap, MetaOf, Pattern, Schemas, TypesOf, WebhookEvent } from '../public/events.ts'
import type { Middleware } from '../http/node.ts'
import type { CallbackAnswer, CallbackRequest } from '../http/request.ts'
import type { AccountPeriod, Outstanding, OutstandingPage } from '../sends/account.ts'
import type { Account } from '../sends/balance.ts'
import type { ExpectOptions } from '../sends/expect.ts'
import type { Holder } from '../inbox/known.ts'
import type {
  EachIntention,
  ExpectCounts,
  IntendEachOptions,
  IntendOptions,
  Intention,
  SentMessages,
} from '../public/intention.ts'
import type { ForgetOptions, ForgetSelector } from '../operations/erasure/selector.ts'
import type { Forgotten } from '../operations/erasure/forget.ts'
import type { MessageState } from '../inbox/latest.ts'
import type { ErrorHandler } from '../runtime/reporter.ts'
import type { Health } from '../operations/health.ts'

/**
 * A handler. The event is settled when it returns, or when the promise that it returns resolves; to what does not matter.
 * What it throws or rejects with is retried.
 */
export type Handler<E, X extends object = {}> = (event: E, context: Context & X) => unknown

/** Counts since the receiver was created, and of the store as it is now. */
export interface Stats extends Counts {
  /** Events that no handler listened to when they were handed over; they are settled. */
  readonly unhandled: number
  /** Events whose handlers run here, or that wait here for a slot. */
  readonly running: number
  /** `away`: it did not answer in time, or with an error, so that nobody knows the last two counts. */
  readonly store: 'up' | 'away' | 'closed'
  /** Events that are in the spool, on their way to the store. */
  readonly spooled: number
  /** Events that are not settled, in the store or on their way there; undefined where the store does not say. */
  readonly unsettled: number | undefined
  /** Dead letters in the store; undefined where it does not say. */
  readonly deadLetters: number | undefined
  /** Who has the store open, and what each holds; undefined where it does not say. */
  readonly holders: readonly Holder[] | undefined
}

/** The receiving end. `S` types the payloads, `X` is what the store adds to a handler's context. */
export interface Receiver<S extends Schemas = {}, X extends object = {}> {
  /**
   * Attaches a handler for one event type, several, or a family (`'message.*'`); the event is typed accordingly. Handlers
   * of one event run in the order in which they were attached. Returns the function that takes this one off again.
   * Throws a `MessagingWebhooksError` (`pattern_unknown`) for a type that does not exist.
   */
  on<const P extends Pattern>(pattern: P | readonly P[], handler: Handler<EventMap<S>[TypesOf<P>], X>): () => void
  /** Attaches a handler for every event. */
  onAny(handler: Handler<WebhookEvent<S>, X>): () => void
  /** Hears of refused requests, failing handlers, dead letters and a failing store; the reference has a table of codes. */
  onError(handler: ErrorHandler): () => void
  /**
   * What is mounted, in Express, Connect or node:http, before any body parser. `kind` is the callback type registered for
   * this URL; without one, delivery reports are recognised by their shape. `proof` overrides the option for this URL.
   * Throws an `OptionsError` for a kind, a policy or an option that does not exist; all methods do, or reject.
   * Contract, service.md#callback-receiver.
   */
  middleware(kind?: CallbackKind, options?: { readonly proof?: ProofPolicy | undefined }): Middleware
  /**
   * The same for a framework of any kind: takes a request in plain parts, reads its body within the same bounds, and
   * resolves to what to answer. It never rejects for a callback; it rejects with an `OptionsError` for a request that is
   * not described as it must be. Contract, service.md#callback-receiver.
   */
  receive(request: CallbackRequest): Promise<CallbackAnswer>
  /**
   * Opens and checks the store and begins to dispatch, the backlog first. Without it, the first request does. Resolves when
   * callbacks can be taken: once the store is open or, where it is away and there is a spool, at once, and then it goes on trying. Without a
   * spool it waits for the store; it may be called after the server listens. Rejects with a `MessagingWebhooksError` for what waiting
   * does not cure, such as `store_foreign`, `store_unmigrated` or `store_path_invalid`.
   */
  start(): Promise<void>
  /**
   * The newest state of a message, or undefined where nothing is known of it. With several projects, or a credentials
   * function, `project` is needed: throws a `MessagingWebhooksError` (`project_required`) without.
   */
  messageState(
    messageId: string,
    options?: { readonly project?: string | undefined },
  ): Promise<MessageState<MetaOf<S>> | undefined>
  /** What came and is kept: listed by filters, shown, and by message in its order. */
  readonly events: Events<S>
  /** The events whose handlers failed in every attempt: listed, shown, replayed, discarded. */
  readonly deadLetters: DeadLetters<S>
  /** The requests that were refused for want of a valid proof, kept so that the right key can still prove them. */
  readonly quarantine: Quarantine
  /**
   * Writes down what was sent, so that its reports have `event.sent`, and `send.overdue` is made of each message whose end is
   * not reported within `withinMs`. It is durable where the store is, and may be called again: a message that is known stays as it
   * is. Rejects with an `OptionsError` for what cannot be, or a `meta` beyond 4,096 bytes or that `schemas.meta` refuses; with a
   * `MessagingWebhooksError`: `project_required` where there are several, `expect_unsupported` for a store of your own that cannot, or
   * what the store fails with, and then a second call does the rest. Contract, service.md#delivery-rules: no callback is sent again.
   */
  expect(sent: SentMessages, options?: ExpectOptions<MetaOf<S>>): Promise<ExpectCounts>
  /**
   * Writes down that a send is about to be made, so that whatever happens next it is known which messages came of it, or that nobody
   * knows: then `send.unknown` is made of it, once, when `answerWithinMs` has passed or at the next start. To be called before
   * the request, by a client of your own; that of `messaging-webhooks/client` does it with its option `receiver`. Nothing may be
   * sent where it rejects: with `send_repeated` for a reference that is known, until that is pruned (`dedupeDays`), or as `expect`
   * does. Contract, service.md#send-a-message: no request has a key by which the service would know a repetition.
   */
  intend(send?: IntendOptions<MetaOf<S>>): Promise<Intention>
  /**
   * The same for a list: writes down a send for each number, under (project, `reference`, number), in one round trip to the store. A number
   * that was sent to under this reference before is left out of `to`, in whatever list and batch it was. Rejects as `intend` does, but
   * with no `send_repeated`.
   */
  intendEach(to: readonly string[], send?: IntendEachOptions<MetaOf<S>>): Promise<EachIntention>
  /**
   * The expected messages of which no end was reported, by the time of their send: a page when it is awaited, all of them when it is
   * iterated. It walks through what was sent before; an end is delivered, read, or failed. Rejects as `expect` does.
   */
  outstanding(page?: OutstandingPage): Outstanding<MetaOf<S>>
  /** The balance of what was sent in a period, as far as `expect` was told of it. It reads all of it. Rejects as `expect` does. */
  account(period: AccountPeriod): Promise<Account>
  /**
   * Removes what may name a person, of a message, of a recipient, of a time or as you say, from every place that this receiver
   * writes to: payloads, bytes, errors, newest states and dead letters in the store, the spool and the quarantine of this
   * process. The identities stay, so a repetition is still a duplicate. What was not settled is settled by it: no handler is
   * begun for it any more; one that runs ends as it would, and nothing of its outcome is kept. Says what it removed. What comes
   * while it runs may be left. Rejects with a `MessagingWebhooksError`: `project_required` for a message id without its
   * `project` where there are several; or what the store fails with,
   * and then a second call does the rest.
   */
  forget(selector: ForgetSelector, options?: ForgetOptions): Promise<Forgotten>
  /**
   * Sends signed probes to `url`, as the service would, through whatever stands in front, and says what is wrong there and in
   * this app, and how to mend it. No handler gets a probe, and nothing of it is stored or counted. `project` names whose pair
   * to sign with, where there are several. Takes a second or two. Rejects with an `OptionsError` for a URL that is none, or a
   * project without credentials; never for what it finds. Contract, service.md#callback-receiver.
   */
  doctor(options: DoctorOptions): Promise<Diagnosis>
  /** Counts, for metrics. It never rejects, and waits for the store for `storeTimeoutMs` at most. */
  stats(): Promise<Stats>
  /**
   * How this receiver is: `live`, `ready` to keep what comes, `working` through what it has, and why not, for probes and people.
   * It never rejects. It asks the store only where no spool stands behind it, at most once a second, and waits for it for
   * `storeTimeoutMs` (5,000) at most.
   */
  health(): Promise<Health>
  /**
   * The same for Kubernetes and load balancers, in Express, Connect or node:http: `GET /livez` and `GET /readyz`, below where it
   * is mounted, are answered 200 or 503 with a little JSON; anything else goes on to `next`, or is answered 404.
   */
  healthMiddleware(): Middleware
  /**
   * Counts, times and how the receiver is now, in the text format of Prometheus (`text/plain; version=0.0.4`). Counts are
   * since the receiver was created; times are measured from the first call on, so that nobody else pays for them. It never
   * rejects, and waits for the store for `storeTimeoutMs` at most; what nobody knows then is left out.
   */
  metrics(): Promise<string>
  /**
   * True once nothing runs, is due or waits; false if `deadlineMs` (10,000) passes before. A handler that waits for it
   * waits for itself, until then.
   */
  drain(options?: { readonly deadlineMs?: number | undefined }): Promise<boolean>
  /**
   * Hands nothing more over (with a store in memory: first what is left), finishes what runs, goes on taking callbacks
   * until the servers it is mounted on have closed, then closes the store. Call `server.close()` first: for a server that
   * still listens it waits only until half a second has passed without a request. After `deadlineMs`
   * (10,000) handlers' signals are aborted and the store is closed all the same. A handler that waits for it is waited for
   * until then: let it go on without.
   */
  close(options?: { readonly deadlineMs?: number | undefined }): Promise<void>
  /**
   * At the first of these signals: stops the servers (those given, and those that requests came from) so that no client is
   * cut off, does what `close()` does, and ends the process: with `process.exitCode` where you set it, else with 1 where
   * events were lost and 0 where none were. At the second signal the process ends at once, with 128 and the number of the
   * signal. Returns the function that takes this off again.
   */
  closeOnSignal(
    signals: NodeJS.Signals | readonly NodeJS.Signals[],
    servers?: Server | readonly Server[],
    options?: CloseOnSignalOptions,
  ): () => void
}
