/**
 * The store contract. A store keeps one record for each message and the payloads of its events, applies commands to them, and
 * finds them again. It makes no decisions: `decide` in `src/messages/decide.ts` makes all of them.
 *
 * Calls carry durations, never instants. Only the store knows the time: a store on a server uses the clock of the server, and a
 * store in this process the clock of the receiver.
 */
import type { AnswerOf, Command, Settle, Settled } from '../messages/commands.ts'
import type { EventState, KeptEvent, StoredDeadLetter, StoredEvent, StoredExpectation } from '../messages/views.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'

/** A value or a promise for it. A store in memory returns values, which keeps promises off the hot path. */
export type Awaitable<T> = T | Promise<T>

/** The `store` option of `createReceiver`. `X` is the type that the store adds to a handler's context. */
export interface Store<X extends object = {}> {
  readonly capabilities: StoreCapabilities
  /** Opens, migrates and checks the store. */
  open(host: StoreHost): Awaitable<MessageStore<X>>
}

/** Properties of a store. */
export interface StoreCapabilities {
  readonly name: string
  /** Whether admitted events survive the end of the process. */
  readonly durable: boolean
  /** Whether several processes may share it. */
  readonly shared: boolean
  /** Default folder of the spool, beside the store's own file. Undefined for a store without a place on this disk. */
  readonly spoolFolder?: string
}

/** The receiver, as a store sees it. */
export interface StoreHost {
  /** Milliseconds since 1970, by the clock of the receiver, which never goes back. For stores without a clock of their own. */
  readonly nowMs: () => number
  /** The same by the wall clock, which may be set back. For retention, which must not stay ahead after a jump. */
  readonly wallMs: () => number
  /** Milliseconds by a clock that nothing sets. It may stand still while the machine sleeps. */
  readonly elapsedMs: () => number
  /** Notifies that an event may be due: another process has admitted one, or a lease has ended. */
  readonly onWork: () => void
  /** Reports a problem of the store that makes no call fail. The caller of a rejected call reports its error. */
  readonly report: (error: MessagingWebhooksError) => void
  /**
   * Notifies that the leases of the messages for which `isAmong` returns true are lost, or may soon be. The token decides who
   * may settle.
   */
  readonly onLost: (isAmong: (messageKey: string) => boolean) => void
  /** The token of the event of this message that this process has in flight. Undefined without one. */
  readonly inFlight: (messageKey: string) => number | undefined
  /** False if this process leases nothing and needs no notification. */
  readonly claims: boolean
}

/** An open store. */
export interface MessageStore<X extends object = {}> {
  /**
   * Applies commands and answers in their order. Each message changes atomically; commands for one message are applied in order
   * and written together. What it answers is durable, if the store is. If it rejects, any of the messages may have changed: a
   * command is idempotent, so that the caller may repeat it.
   *
   * `deferrable`: the caller does not wait for the answer. A store may delay it by some milliseconds, to send it with
   * others.
   */
  run<C extends Command>(commands: readonly C[], deferrable?: boolean): Awaitable<readonly AnswerOf<C>[]>
  /** The keys of messages that need something now, longest waiting first, and when the next one will. */
  due(request: DueRequest): Awaitable<Due>
  /** One page of a list. For observers, so it must not slow down admission or dispatch. */
  scan<Q extends Query>(query: Q): Awaitable<Page<ItemOf<Q>>>
  /** Current totals. */
  counts(): Awaitable<StoreCounts>
  /** The receiver makes no calls after this one. */
  close(): Awaitable<void>
  /** Overwrites traces of erased data in free space, if the engine can. May take long, and blocks the store meanwhile. */
  compact?(): Awaitable<void>
  /** The processes that have the store open, longest first. For observers. */
  workers?(): Awaitable<readonly WorkerState[]>
  /**
   * Whether the lease of this message is still valid. True if no other process can have declared this one dead; false if one
   * has, for example after a suspension; undefined if only the store can tell, and the caller asks it. Without this method a
   * lease is valid until it expires.
   */
  isHeld?(messageKey: string): boolean | undefined
  /** Handlers run in transactions of the store, at most `most` at a time. Undefined if they get none. */
  readonly transactions?: Transactions<X> | undefined
}

/** Transactions around handlers. */
export interface Transactions<X extends object = {}> {
  /** How many can be open at a time. */
  readonly most: number
  /** Begins one. */
  begin(): Promise<HandlerTransaction<X>>
}

/** A transaction around the handlers of one event. */
export interface HandlerTransaction<X extends object = {}> {
  /** What the handlers get in their context. */
  readonly context: X
  /**
   * Settles in the transaction and commits it. If the lease was lost (`held` is false), everything is rolled back. `failed`:
   * the effects of the handlers could not be committed and were rolled back; settle the event as failed.
   */
  commit(settlement: Settle): Promise<Settled | SettleFailed>
  rollBack(): Promise<void>
}

/** A settlement as `done` that failed. */
export interface SettleFailed {
  readonly failed: MessagingWebhooksError
}

/**
 * What is asked for: messages with an event to lease (`events`; a shared store reserves them for 5 s, so that processes do not
 * contend for them), sends that are overdue (`sends`), or messages with something past its retention (`retention`).
 */
export interface DueRequest {
  readonly of: 'events' | 'sends' | 'retention'
  readonly limit: number
  /** Messages with handlers that run or hang in this process. */
  readonly exclude?: ReadonlySet<string> | undefined
}

export interface Due {
  readonly keys: readonly string[]
  /** Milliseconds until the next message is due, 0 if more are due now. Undefined without one, and for `retention`. */
  readonly nextInMs: number | undefined
}

/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Pass it as `after` to get the next page. Undefined on the last page. */
  readonly next?: string | undefined
  /** Set if the bounded search ended before the page was full: it skipped nothing younger than this. */
  readonly lookedBackToMs?: number | undefined
}

interface PageQuery {
  readonly after: string | undefined
  /** The largest number of items. Also bounds what the store examines, so a page may be short or empty and have a `next`. */
  readonly limit: number
}

/** Selects events. An event without a readable record matches by time and state only. */
export interface EventFilter {
  /**
   * Type of the report, `send.overdue`, `send.unknown`, `received`, `payment`, `subscription` or `unrecognized`. `late` matches
   * reports known to be late; their own type matches them as well.
   */
  readonly types?: readonly string[] | undefined
  readonly project?: string | undefined
  readonly channel?: string | undefined
  readonly carrier?: string | undefined
  /** The message id, also of an `unrecognized` event, or the recipient equals one of these. */
  readonly about?: readonly string[] | undefined
  readonly states?: readonly EventState[] | undefined
  /** `atMs` is at or after `fromMs` and before `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

/**
 * Events, newest first: by admission, or by the latest known time if the store has no index of admissions. `key` restricts them
 * to one message, `id` to one event.
 */
export interface EventsQuery extends PageQuery, EventFilter {
  readonly of: 'events'
  readonly key?: string | undefined
  readonly id?: string | undefined
}

/** Dead letters, oldest first, or the one with this id. */
export interface DeadLettersQuery extends PageQuery {
  readonly of: 'deadLetters'
  readonly id?: string | undefined
}

/** Sends by time, from `fromMs` on and before `toMs`: oldest first, or newest first those to one of these recipients. */
export interface SendsQuery extends PageQuery {
  readonly of: 'sends'
  readonly fromMs: number
  readonly toMs: number
  readonly to?: readonly string[] | undefined
}

/**
 * Everything stored that may identify a person, in any order. Each item is on a page at least once; items stored during the walk
 * may be missing. `limit` counts messages: a page has all items of each.
 */
export interface KeptQuery extends PageQuery {
  readonly of: 'kept'
}

export type Query = EventsQuery | DeadLettersQuery | SendsQuery | KeptQuery

interface Items {
  events: StoredEvent
  deadLetters: StoredDeadLetter
  sends: StoredExpectation
  kept: KeptEvent
}

export type ItemOf<Q extends Query> = Items[Q['of']]

/** Current totals of a store. */
export interface StoreCounts {
  /** Admitted and not settled: waiting, due, running, or to be retried. */
  readonly unsettled: number
  readonly deadLetters: number
}

/** A worker: a process that has the store open and keeps its leases by sending heartbeats. */
export interface WorkerState {
  /** Random. A process that was declared dead continues under another id. */
  readonly id: string
  /** Host name and process id, as the process reported them. */
  readonly name: string
  readonly isSelf: boolean
  /** When it registered, by the store's clock. Undefined if the store does not record it. */
  readonly sinceMs: number | undefined
  /** Time since its last heartbeat. */
  readonly silentMs: number
  /** Events under its leases. */
  readonly held: number
}
