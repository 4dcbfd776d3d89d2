/**
 * The interface of an open store. `src/inbox/runtime/` builds it from the decisions in `src/messages/` and an
 * engine that implements the store contract, `record-store.ts`.
 *
 * Times are absolute milliseconds since the epoch, so that queueing does not extend a deadline. A shared store with its own
 * clock converts each time by its distance from the `nowMs` of the same call: no process's clock decides about another's lease.
 */
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { Expectation, KnownExpectation } from '../messages/expected.ts'
import type { EventRecord } from '../messages/event-record.ts'
import type { Place, Repetitions } from '../messages/order.ts'

/** A value or a promise for it. A store in memory returns values, which keeps promises off the hot path. */
export type Awaitable<T> = T | Promise<T>

/**
 * Key of the parsed JSON of `raw` without its authKey, if known, for an event that runs right after admission. It is a symbol
 * because JSON and structured cloning skip symbols.
 */
export const PAYLOAD: unique symbol = Symbol('payload')

/** An event to admit. */
export interface NewEvent extends Place {
  /** The idempotency key: two events with the same id are duplicates. */
  readonly id: string
  /** Shared by all events of one message. An event that belongs to no message shares it only with those of equal bytes. */
  readonly messageKey: string
  /** Other ids that are the same event. Decided by `admit` of `src/messages/`. */
  readonly repeats?: Repetitions | undefined
  /** End of the reorder wait of a report for the step that it `awaits`. */
  readonly gapUntilMs: number
  readonly record: EventRecord
  /** The bytes of the body, with the authKey masked. */
  readonly raw: Buffer
  [PAYLOAD]?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Result of an admission. `new`: stored. `late`: stored, but older than an event dispatched before. `duplicate`: known already,
 * nothing changed. `full`: rejected, the store has reached its limit of unsettled events. `crowded`: stored as a dead letter,
 * because too many events of its message wait.
 */
export type Admission = 'new' | 'duplicate' | 'late' | 'full' | 'crowded'

/** Whether this admission left the event to be dispatched. */
export function isKept(admission: Admission | undefined): boolean {
  return admission === 'new' || admission === 'late'
}

/** An event to dispatch, under a lease. */
export interface Claim {
  readonly id: string
  readonly messageKey: string
  /** Fencing token. It grows with every claim, so a worker with an expired lease cannot settle. */
  readonly token: number
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly late: boolean
  readonly replay: boolean
  readonly record: EventRecord
  readonly raw: Buffer
  /** The expectation of its message, if the app recorded one. */
  readonly expected?: KnownExpectation
}

/** A dispatcher's request. Times are in milliseconds since 1970. */
export interface ClaimRequest {
  /** Maximum number of events, each of a different message. */
  readonly limit: number
  readonly nowMs: number
  readonly leaseUntilMs: number
  /** Messages with handlers that run or hang in this process. */
  readonly exclude: ReadonlySet<string>
}

/** The events that a store leases in response. */
export interface ClaimResult {
  /** The first event of each message by `order`. Messages that have been due longest come first. */
  readonly claims: readonly Claim[]
  /** When the next event will be due. Undefined without one, or if more is due now. */
  readonly nextDueMs: number | undefined
}

/** Result of `admitAndClaim`: the admissions in the order of the events, and the leases granted with them. */
export interface AdmittedAndClaimed {
  readonly admissions: readonly Admission[]
  readonly claims: readonly Claim[]
}

/** The outcome of a claimed event. */
export type Settlement = {
  readonly id: string
  readonly messageKey: string
  readonly token: number
} &
  /** `isUnhandled`: no handler listens to its type. The event is then stored with no attempt. */
  (
    | { readonly outcome: 'done'; readonly isUnhandled?: true }
    | { readonly outcome: 'retry'; readonly dueMs: number; readonly error: string }
    /** None of its handlers started. The attempt does not count. */
    | { readonly outcome: 'release'; readonly dueMs: number }
    | { readonly outcome: 'dead'; readonly error: string }
  )

/** A settlement as `done` that failed: see `settle`. */
export interface SettleFailed {
  readonly failed: MessagingWebhooksError
}

/** The merge of all reports of a message. It does not depend on the order of arrival or on repetitions. */
export interface StoredLatest {
  /** The report with the greatest `order`. */
  readonly record: EventRecord
  /** All reports that may be final (`isFinal` of order.ts), by `order`. The parts of a long SMS share one id, and a success must not hide a failure. */
  readonly finals: readonly EventRecord[]
  /** The expectation of the message, if the app recorded one. */
  readonly expected?: KnownExpectation
}

/** A dead letter. */
export interface StoredDeadLetter {
  readonly id: string
  readonly attempts: number
  /** The last error of the handlers, cut to 8 KiB. */
  readonly error: string
  readonly diedAtMs: number
  readonly record: EventRecord
  readonly raw: Buffer
  /** The expectation of its message, if the app recorded one. */
  readonly expected?: KnownExpectation
}

/** All states of an event. */
export const EVENT_STATES = ['due', 'leased', 'settled', 'dead'] as const

/**
 * The state of an event. `due`: waits for its time or its turn. `leased`: a worker has it, or had it until its lease expired.
 * `settled`: its handlers succeeded, or it had none. `dead`: a dead letter.
 */
export type EventState = (typeof EVENT_STATES)[number]

/**
 * An event in a list. Fields that the store no longer has, or cannot read, are undefined. Only the identity remains of an event
 * settled long ago.
 */
export interface StoredEvent {
  readonly id: string
  readonly state: EventState
  /** The sort key of the list: the time of admission, or the latest known time. */
  readonly atMs: number | undefined
  readonly late: boolean | undefined
  /** Number of attempts. 0 for an event that was settled without a handler. */
  readonly attempts: number | undefined
  readonly admittedAtMs: number | undefined
  /** If due: the earliest time of a claim, as far as the event itself decides. If leased: the end of the lease. */
  readonly dueMs: number | undefined
  /** When it was settled or became a dead letter. Some stores keep only seconds. */
  readonly endedAtMs: number | undefined
  /** The last error of the handlers of a dead letter. */
  readonly error: string | undefined
  readonly order: string | undefined
  readonly record: EventRecord | undefined
  readonly raw: Buffer | undefined
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
  /** The message id or the recipient equals one of these. */
  readonly about?: readonly string[] | undefined
  readonly states?: readonly EventState[] | undefined
  /** `atMs` is at or after `fromMs` and before `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

/** A request for a page of events. */
export interface EventsPage extends EventFilter {
  readonly after: string | undefined
  readonly limit: number
  /** Restricts the page to one message. A store without an index of messages may end its search early, as with a filter. */
  readonly messageKey?: string | undefined
  /** Restricts the page to this identity. `messageKey` may speed up the search. */
  readonly id?: string | undefined
}

/**
 * A page of events. With a filter it may be short or empty and still have a `next`, because each call searches a bounded number
 * of events.
 */
export interface EventsAnswer extends StorePage<StoredEvent> {
  /** Set if the search ended before the page was full: it skipped no event younger than this. */
  readonly lookedBackToMs?: number
}

/**
 * Resolution of a dead letter. `replay`: due again, as late if a later report was dispatched meanwhile. `force`: due again,
 * never as late. `discard`: settled, and only the identity is kept.
 */
export type Resolution = 'replay' | 'force' | 'discard'

/** A page of a list. */
export interface StorePage<T> {
  readonly items: readonly T[]
  /** Pass it as `after` to get the next page. Undefined on the last page. */
  readonly next?: string
}

/**
 * Stored data that may identify a person: the record and bytes of an event, or a report of the latest state. An expectation is
 * included as bytes, with the key of its message as id.
 */
export interface KeptEvent extends Pick<StoredEvent, 'id' | 'atMs' | 'record' | 'raw'> {
  readonly messageKey: string
}

/**
 * What to erase of one message: everything, or only these events. The expectation is erased with everything, or if the key of
 * the message is among the ids.
 */
export interface ForgetTarget {
  readonly messageKey: string
  readonly ids?: readonly string[] | undefined
}

/** Whether the target includes this event of its message. */
export function isTarget({ ids }: ForgetTarget, id: string): boolean {
  return ids === undefined || ids.includes(id)
}

/** A request to erase. */
export interface ForgetRequest {
  readonly targets: readonly ForgetTarget[]
  /** Counts without changing anything. */
  readonly dryRun: boolean
}

/** What was erased. */
export interface ForgottenCounts {
  /** Events of which a record or bytes were stored, in any state. */
  readonly events: number
  /** How many of these were not settled. */
  readonly unsettled: number
  readonly deadLetters: number
  /** Messages of which a latest state, a part of it, or an expectation was stored. */
  readonly states: number
}

/** A message that was sent. */
export interface NewExpectation {
  readonly messageKey: string
  /** Sort key of the list of sends. */
  readonly sentAtMs: number
  /** When it becomes overdue. Undefined if nothing more is awaited. */
  readonly overdueAtMs: number | undefined
  readonly expectation: Expectation
}

/** The remainder of an expectation when nothing more is awaited. */
export interface EndedExpectation {
  readonly messageKey: string
  /** Undefined if the send was not made: it may then be recorded again. */
  readonly expectation: Expectation | undefined
}

/** An expectation in a list. */
export interface StoredExpectation extends KnownExpectation {
  readonly messageKey: string
  /** The latest state of the message. Undefined if no report has arrived. */
  readonly latest: StoredLatest | undefined
}

/** A request for messages to one recipient. */
export interface SentToPage {
  /** The forms of one number, or a name. Each must equal the recipient as the app recorded it. */
  readonly to: readonly string[]
  readonly after: string | undefined
  readonly limit: number
  /** Sent at or after `fromMs` and before `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

export interface SentToAnswer extends StorePage<StoredExpectation> {
  /** Set with `next` if the bounded search ended: how far back it searched. */
  readonly lookedBackToMs?: number
}

/** Overdue messages. */
export interface Overdue {
  /** Longest overdue first. Some may have reached an end since; `admitOverdue` checks that. */
  readonly items: readonly { readonly messageKey: string; readonly expectation: Expectation }[]
  /** When the next message becomes overdue. Undefined without one, or if more is overdue now. */
  readonly nextMs: number | undefined
}

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

/** An open store. `X` is the type that it adds to a handler's context. */
export interface OpenStore<X extends object = {}> {
  /**
   * The latest `nowMs` given to a durable store before it was opened, up to a second less. Undefined if there was none. The
   * clock of the machine may have been set back since; the caller never passes an earlier time, because waiting events would
   * wait that much longer.
   */
  readonly latestNowMs?: number | undefined
  /**
   * Admits all events in the given order, or none if it throws. Atomic with the latest state and the reorder wait of each
   * message.
   */
  admit(events: readonly NewEvent[], nowMs: number): Awaitable<readonly Admission[]>
  /** Leases the first due event of each message to the caller, except for messages in `exclude`. */
  claim(request: ClaimRequest): Awaitable<ClaimResult>
  /**
   * `admit`, then `claim` restricted to the events just admitted, as one atomic step: an event that runs where it was received
   * costs one write less, and its body is not read back.
   *
   * Claims admitted events (`new` or `late`) that are due now and whose message has no lease, has no unsettled event ordered
   * before them, and is not in `exclude`: one per message, at most `limit`, in the given order. It may claim fewer; events that
   * it does not claim are left as by `admit`. Claims equal those of `claim`, with the given `record` and `raw`.
   *
   * If it throws, nothing was admitted or leased. If only the response was lost, as when a connection breaks, unknown leases
   * may exist; their events are due again when these expire.
   */
  admitAndClaim?(events: readonly NewEvent[], request: ClaimRequest): Awaitable<AdmittedAndClaimed>
  /**
   * Returns for each settlement whether the lease was still valid. If not, nothing changed. `failed`: the effects of the
   * handlers through the context could not be committed and were rolled back; settle the event again, as failed.
   *
   * Idempotent: repeat it after a lost response. A repeated `retry` returns the same result until the event is claimed again.
   * `release` ends the caller's part in the event.
   *
   * `deferrable`: the caller does not wait for the result. A store may delay it by some milliseconds, to send it with the next
   * request.
   */
  settle(
    settlements: readonly Settlement[],
    nowMs: number,
    deferrable?: boolean,
  ): Awaitable<readonly (boolean | SettleFailed)[]>
  /**
   * The store calls `onWork` after a settlement that ends an event while others of its message wait. Without it, the caller
   * claims again after settling.
   */
  readonly notifiesRemaining?: boolean
  /** Maximum delay of a `deferrable` settlement, which lets several share a round trip. Default 0. */
  readonly settleLingerMs?: number
  /** The latest state of a message. Undefined if it is unknown. */
  latest(messageKey: string): Awaitable<StoredLatest | undefined>
  /** Oldest first. */
  deadLetters(page: {
    readonly after: string | undefined
    readonly limit: number
  }): Awaitable<StorePage<StoredDeadLetter>>
  /**
   * Lists stored events, newest first: by admission, or by the latest known time if the store has no index of admissions. For
   * observers: it may scan everything, and an event that changes between two pages may be on both or on neither. It must not
   * slow down admission or dispatch.
   *
   * With a filter, each call searches a bounded number of events from `after` on. A page may be short and have a `next`.
   */
  events(page: EventsPage): Awaitable<EventsAnswer>
  /** Resolves a dead letter. False if no dead letter has this id. */
  resolve(id: string, resolution: Resolution, nowMs: number): Awaitable<boolean>
  /** Removes what is past its retention, in bounded steps. Returns how many were removed. */
  prune(nowMs: number): Awaitable<number>
  /**
   * Walks in bounded steps through everything stored that may identify a person. Returns each item at least once, in no defined
   * order. `limit` bounds what it examines, so a page may be empty and have a `next`. Items stored during the walk may be
   * missing.
   */
  kept(page: { readonly after: string | undefined; readonly limit: number }): Awaitable<StorePage<KeptEvent>>
  /**
   * Erases records, bytes, errors, dead letters and the latest state of the targets. The identity of each event stays, so that
   * a repetition is a duplicate, as do the values that order a message. Unsettled events become settled: a worker that settles
   * one gets false, and the next event of its message is due. A new report is admitted as usual. Of a pending or ended send
   * (an expectation with `recipients`) the key stays, so that its reference is not used again.
   */
  forget(request: ForgetRequest, nowMs: number): Awaitable<ForgottenCounts>
  /**
   * Records that each message was sent, and what `claim`, `latest` and the list of dead letters return with it. Durable like an
   * admission. Records all messages, or none if it throws. Leaves a known message unchanged. Returns for each whether it is
   * new. Reports that await the step `EXPECTED` (order.ts) become due, and later reports do not wait for it. The store keeps an
   * expectation until it is overdue, and as long as identities. Does not change the latest state or the unsettled count.
   *
   * A store that implements it also implements `overdue`, `admitOverdue`, `awaitNoMore` and `expectations`.
   */
  expect?(messages: readonly NewExpectation[], nowMs: number): Awaitable<readonly boolean[]>
  /** Messages that are overdue and not yet decided by `admitOverdue`. Changes nothing. */
  overdue?(page: { readonly nowMs: number; readonly limit: number }): Awaitable<Overdue>
  /**
   * Admits each event that reports an overdue message, unless the message has a final report (`isFinal` of order.ts) or was
   * decided before. Admission and decision are one atomic, final step. Returns for each whether it was admitted. Throws if the
   * store is full and admits none.
   */
  admitOverdue?(events: readonly NewEvent[], nowMs: number): Awaitable<readonly boolean[]>
  /**
   * Ends these expectations and stores their remainder: `overdue` and `admitOverdue` skip them, and earlier decisions stay.
   * Skips messages without an expectation, and erased references.
   */
  awaitNoMore?(ended: readonly EndedExpectation[], nowMs: number): Awaitable<void>
  /**
   * Walks through sends from `fromMs` on and before `toMs`, by time. For observers: `limit` bounds what it examines, and a send
   * that changes between two pages may be on both or on neither.
   */
  expectations?(page: {
    readonly after: string | undefined
    readonly limit: number
    readonly fromMs: number
    readonly toMs: number
    /** Restricts the page to this message, whenever it was sent. */
    readonly messageKey?: string | undefined
  }): Awaitable<StorePage<StoredExpectation>>
  /**
   * Sends to one of these recipients, newest first. For observers: as with a filter of `events`, each call searches a bounded
   * number, so a page may be short and have a `next`.
   */
  sentTo?(page: SentToPage): Awaitable<SentToAnswer>
  /** Overwrites traces of erased data in free space, if the engine can. May take long, and blocks the store meanwhile. */
  eraseTraces?(): Awaitable<void>
  /** Current totals. */
  counts(): Awaitable<StoreCounts>
  /**
   * Whether the lease of this message is still valid. True if no other process can have declared this one dead; false if one
   * has, for example after a suspension; undefined if only the store can tell, and the caller asks it. Without this method a
   * lease is valid until it expires.
   */
  isHeld?(messageKey: string): boolean | undefined
  /** The processes that have the store open, longest first. For observers. */
  workers?(): Awaitable<readonly WorkerState[]>
  /** The receiver makes no calls after this one. */
  close(): Awaitable<void>
  /**
   * What this store adds to the context of a claim's handlers. If the attempt fails, effects through it are rolled back, so a
   * retry runs all handlers again.
   */
  readonly contextFor?: ((claim: Claim) => X) | undefined
}

/** The receiver, as a store sees it. */
export interface StoreHost {
  /** Notifies that another process has admitted an event, or may have. */
  readonly onWork: () => void
  /** Reports a problem of the store that makes no call fail. The caller of a rejected call reports its error. */
  readonly report?: (error: MessagingWebhooksError) => void
  /**
   * Notifies that the leases of the messages for which `isAmong` returns true are lost, or may soon be. The token decides who
   * may settle.
   */
  readonly onLost?: ((isAmong: (messageKey: string) => boolean) => void) | undefined
  /** False if this process claims nothing and needs no notification. Default true. */
  readonly claims?: boolean
}

/** The `store` option of `createReceiver`. */
export interface Store<X extends object = {}> {
  readonly capabilities: StoreCapabilities
  /** Opens, migrates and checks the store. */
  open(host: StoreHost): Awaitable<OpenStore<X>>
}
