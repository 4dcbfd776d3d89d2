/** The public surface: what users hold in their hands. Types only. */
import type { Server } from 'node:net'
import type { ProofPolicy } from './authenticity/proof-table.ts'
import type { Quarantine } from './authenticity/quarantine/surface.ts'
import type { CloseOnOptions } from './close-on.ts'
import type { DeadLetter } from './dispatch/dead-letters.ts'
import type { Context } from './dispatch/handlers.ts'
import type { CallbackKind, EventMap, Pattern, Schemas, TypesOf, WebhookEvent } from './events.ts'
import type { Middleware } from './http/node.ts'
import type { LatestState } from './inbox/latest.ts'
import type { Page } from './inbox/store.ts'
import type { ErrorHandler } from './report.ts'

/**
 * A handler. The event is settled when it returns, or when the promise that it returns resolves; to what does not matter.
 * What it throws or rejects with is retried.
 */
export type Handler<E, X extends object = {}> = (event: E, context: Context & X) => unknown

/** Counts since the receiver was created, and of the store as it is now. */
export interface Stats {
  readonly taken: number
  readonly duplicates: number
  readonly late: number
  readonly refused: number
  readonly running: number
  readonly unsettled: number
  readonly deadLetters: number
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
  /** Hears of refused requests, failing handlers, dead letters and a failing store; see the README's table of codes. */
  onError(handler: ErrorHandler): () => void
  /**
   * What is mounted, in Express, Connect or node:http, before any body parser. `kind` is the callback type registered for
   * this URL; without one, delivery reports are recognised by their shape. `proof` overrides the option for this URL.
   * Throws an `OptionsError` for a kind or policy that does not exist. Contract, "Callback receiver".
   */
  middleware(kind?: CallbackKind, options?: { readonly proof?: ProofPolicy | undefined }): Middleware
  /** Opens and checks the store and begins to hand over, the backlog first. Without it, the first request does. */
  start(): Promise<void>
  /**
   * The newest state of a message, or undefined where nothing is known of it. With several projects, or a credentials
   * function, `project` is needed: throws a `MessagingWebhooksError` (`project_required`) without.
   */
  latest(messageId: string, options?: { readonly project?: string | undefined }): Promise<LatestState | undefined>
  /** Dead letters, oldest first, `limit` (100) a page; pass `next` of a page as `after` for the one that follows. */
  deadLetters(page?: { readonly after?: string; readonly limit?: number }): Promise<Page<DeadLetter>>
  /**
   * Runs a dead letter's handlers again: as `late` where a later state of its message was handed over meanwhile, unless
   * `force`. False where there is no such dead letter.
   */
  replay(id: string, options?: { readonly force?: boolean }): Promise<boolean>
  /** Gives a dead letter up: it is not listed any more, and never run again. False where there is no such dead letter. */
  discard(id: string): Promise<boolean>
  /** The requests that were refused for want of a valid proof, kept so that the right key can still prove them. */
  readonly quarantine: Quarantine
  /** Counts, for metrics. */
  stats(): Promise<Stats>
  /**
   * True once nothing runs, is due or waits; false if `deadlineMs` (10,000) passes before. A handler that waits for it
   * waits for itself, until then.
   */
  drain(options?: { readonly deadlineMs?: number }): Promise<boolean>
  /**
   * Hands nothing more over (with a store in memory: first what is left), finishes what runs, goes on taking callbacks
   * until the servers it is mounted on have closed, then closes the store. Call `server.close()` first. After `deadlineMs`
   * (10,000) handlers' signals are aborted and the store is closed all the same. A handler that waits for it is waited for
   * until then: let it go on without.
   */
  close(options?: { readonly deadlineMs?: number }): Promise<void>
  /**
   * At the first of these signals: stops the servers (those given, and those that requests came from) so that no client is
   * cut off, does what `close()` does, and ends the process, with exit code 0 unless `process.exitCode` is another. At the
   * second the process ends at once, with 128 and the number of the signal. Returns the function that takes this off again.
   */
  closeOn(
    signals: NodeJS.Signals | readonly NodeJS.Signals[],
    servers?: Server | readonly Server[],
    options?: CloseOnOptions,
  ): () => void
}
