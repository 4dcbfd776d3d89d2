/**
 * What the receiver asks of an open store. `src/inbox/runtime/` makes it of the decisions in `src/messages/` and of an engine that fulfils
 * the store contract, `record-store.ts`.
 *
 * Times are absolute (milliseconds since the epoch, so that waiting in a queue lengthens no life). A store with a clock of its own, as a
 * server has that many processes share, takes each time as its distance from the `nowMs` of the same call, so no process's clock decides
 * over another's lease.
 */
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { Expectation, KnownExpectation } from '../messages/expected.ts'
import type { EventRecord } from '../messages/event-record.ts'
import type { Place } from '../messages/order.ts'

/** Now or later: a store in memory answers at once, so that the hot path has no promise in it. */
export type Awaitable<T> = T | Promise<T>

/**
 * Under it stands what `raw` is as JSON, less its authKey, where that is known: for whoever runs the event as it is admitted.
 * A symbol, for neither JSON nor a message to another thread takes that along, whatever a store does with the rest.
 */
export const PAYLOAD: unique symbol = Symbol('payload')

/** An event to admit. */
export interface NewEvent extends Place {
  /** The identity; what makes it a duplicate. */
  readonly id: string
  /** What the events of one message share. An event of no message has its own `id` here. */
  readonly messageKey: string
  /** A chat-app report waits until then for the step that it `awaits`. */
  readonly gapUntilMs: number
  readonly record: EventRecord
  /** The body's bytes, the authKey masked. */
  readonly raw: Buffer
  [PAYLOAD]?: Readonly<Record<string, unknown>> | undefined
}

/**
 * What became of it: `new`; `duplicate`, known already and changing nothing; `late`, kept, but older than what was handed
 * over; `full`, not kept, for the store holds as many unsettled events as it may; `newer`, not kept, because a later version of
 * this package has written the record of its message.
 */
export type Admission = 'new' | 'duplicate' | 'late' | 'full' | 'newer'

/** Whether the store has it since then, and had not before. */
export function isKept(admission: Admission | undefined): boolean {
  return admission === 'new' || admission === 'late'
}

/** An event to hand over, under a lease. */
export interface Claim {
  readonly id: string
  readonly messageKey: string
  /** Fencing token: grows with every claim, so that a holder whose lease ran out cannot settle. */
  readonly token: number
  /** 1 for the first time. */
  readonly attempt: number
  readonly late: boolean
  readonly replay: boolean
  readonly record: EventRecord
  readonly raw: Buffer
  /** Where its message is expected. */
  readonly expected?: KnownExpectation
}

/** What a dispatcher asks for; times are in milliseconds since 1970. */
export interface ClaimRequest {
  /** At most so many events, each of another message. */
  readonly limit: number
  readonly nowMs: number
  readonly leaseUntilMs: number
  /** Messages that this process must not run now, for handlers of theirs still run or hang here. */
  readonly exclude: ReadonlySet<string>
}

/** What a store leases in answer. */
export interface ClaimResult {
  /** In each message the first by `order`; of several messages the longest due one first. */
  readonly claims: readonly Claim[]
  /** When something will be due next, if anything will and nothing more is due now. */
  readonly nextDueMs: number | undefined
}

/** What `admitAndClaim` did: an admission for each event given, in their order, and the leases that came with them. */
export interface AdmittedAndClaimed {
  readonly admissions: readonly Admission[]
  readonly claims: readonly Claim[]
}

/** What became of a claimed event. */
export type Settlement = {
  readonly id: string
  readonly messageKey: string
  readonly token: number
} & (
  | { readonly outcome: 'done' }
  | { readonly outcome: 'retry'; readonly dueMs: number; readonly error: string }
  /** None of its handlers was begun, so the attempt does not count. */
  | { readonly outcome: 'unbegun'; readonly dueMs: number }
  | { readonly outcome: 'dead'; readonly error: string }
)

/** A settlement as `done` that could not be: see `settle`. */
export interface SettleFailed {
  readonly failed: MessagingWebhooksError
}

/** The merge of all reports of a message: the same for every order of arrival and every repetition. */
export interface StoredLatest {
  /** The report with the greatest `order`. */
  readonly record: EventRecord
  /** All final ones, by `order`: the parts of a long SMS share one id, and a success must not hide a failure. */
  readonly finals: readonly EventRecord[]
  /** Where the message is expected. */
  readonly expected?: KnownExpectation
}

/** An event that was given up, as a store keeps it. */
export interface StoredDeadLetter {
  readonly id: string
  readonly attempts: number
  /** What the handlers threw last, cut to 8 KiB. */
  readonly error: string
  readonly diedAtMs: number
  readonly record: EventRecord
  readonly raw: Buffer
  /** Where its message is expected. */
  readonly expected?: KnownExpectation
}

/** All states of an event. */
export const EVENT_STATES = ['due', 'leased', 'settled', 'dead'] as const

/**
 * Where an event stands: it waits for its time or its turn; somebody has it, or had it until a lease ran out; its handlers
 * have done it, or nobody wanted it; or it is a dead letter.
 */
export type EventState = (typeof EVENT_STATES)[number]

/**
 * An event as a store lists it: what it knows of it and nothing else. What it does not keep, or cannot read any more, is
 * undefined; of one that was settled long ago that is all but the identity.
 */
export interface StoredEvent {
  readonly id: string
  readonly state: EventState
  /** The time that the list goes by: of its admission, or the last that is known of it. */
  readonly atMs: number | undefined
  readonly late: boolean | undefined
  /** How often it was handed over. */
  readonly attempts: number | undefined
  readonly admittedAtMs: number | undefined
  /** Of one that is due: from when on it may be claimed, as far as its own time decides. Of a leased one: until when. */
  readonly dueMs: number | undefined
  /** Settled or dead since; to the second where the store keeps no more. */
  readonly endedAtMs: number | undefined
  /** Of a dead letter: what the handlers threw last. */
  readonly error: string | undefined
  readonly order: string | undefined
  readonly record: EventRecord | undefined
  readonly raw: Buffer | undefined
}

/** Which events are listed; one that a store does not keep the record of, or cannot read, is found by its time and state alone. */
export interface EventFilter {
  /**
   * As far as a record tells: that of the report, `send.overdue`, `send.unknown`, `received`, `payment`, `subscription` or
   * `unrecognized`; `late` for a report that is known to have come too late, which its own type finds, too.
   */
  readonly types?: readonly string[] | undefined
  readonly project?: string | undefined
  readonly channel?: string | undefined
  readonly carrier?: string | undefined
  /** The message id, or the recipient, is exactly one of these. */
  readonly about?: readonly string[] | undefined
  readonly states?: readonly EventState[] | undefined
  /** `atMs` is not before this; and before that. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

/** Which events are listed. */
export interface EventsPage extends EventFilter {
  readonly after: string | undefined
  readonly limit: number
  /** Of one message alone: where a store has no index of that, it may end a look for them as it does with a filter. */
  readonly messageKey?: string | undefined
  /** The one with this identity alone; with its `messageKey` it may be found sooner. */
  readonly id?: string | undefined
}

/** A page of events. With a filter it may have few items, or none, and a `next` all the same: no call looks at everything. */
export interface EventsAnswer extends Page<StoredEvent> {
  /** Where a look has ended before its page was full: no event that it has passed over is younger than that. */
  readonly lookedBackToMs?: number
}

/**
 * What becomes of a dead letter: it is due again, as late where a later report was handed over meanwhile (`replay`) or as
 * itself all the same (`force`); or it is settled, and only its identity is kept (`discard`).
 */
export type Resolution = 'replay' | 'force' | 'discard'

/** A page of a list; `next` is the `after` of the page that follows, where there is one. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Pass it as `after` to go on; absent on the last page. */
  readonly next?: string
}

/**
 * What a store still keeps of an event that may name a person: its record, its bytes, or a report of the latest state. What is
 * expected of a message is among them, as bytes under the key of the message.
 */
export interface KeptEvent extends Pick<StoredEvent, 'id' | 'atMs' | 'record' | 'raw'> {
  readonly messageKey: string
}

/**
 * What is to be forgotten: of one message all that is kept, or these of its events alone. What was expected of it goes with all,
 * and where the key of the message itself is among the identities.
 */
export interface ForgetTarget {
  readonly messageKey: string
  readonly ids?: readonly string[] | undefined
}

/** Whether an event of its message is meant. */
export function isTarget({ ids }: ForgetTarget, id: string): boolean {
  return ids === undefined || ids.includes(id)
}

/** What is to be erased. */
export interface ForgetRequest {
  readonly targets: readonly ForgetTarget[]
  /** Counts, and changes nothing. */
  readonly dryRun: boolean
}

/** What was erased. */
export interface ForgottenCounts {
  /** Events of which a record or bytes were kept, whatever their state. */
  readonly events: number
  /** Those of them that were not settled yet. */
  readonly unsettled: number
  readonly deadLetters: number
  /** Messages of which a latest state was kept, or a part of it, or what was expected. */
  readonly states: number
}

/** A message that was sent. */
export interface NewExpectation {
  readonly messageKey: string
  /** Its place in the list of them. */
  readonly sentAtMs: number
  /** When it is overdue; undefined for one that nothing more will come of. */
  readonly overdueAtMs: number | undefined
  readonly expectation: Expectation
}

/** What is left of an expectation of which nothing more is awaited. */
export interface EndedExpectation {
  readonly messageKey: string
  readonly expectation: Expectation
}

/** An expectation as a store lists it. */
export interface StoredExpectation extends KnownExpectation {
  readonly messageKey: string
  /** The latest state of the message; undefined where no report of it came. */
  readonly latest: StoredLatest | undefined
}

/** Messages to somebody, as people look for them. */
export interface SentToPage {
  /** The forms of one number, or a name: each exactly as it was given to the send. */
  readonly to: readonly string[]
  readonly after: string | undefined
  readonly limit: number
  /** Sent from then on, and before `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

export interface SentToAnswer extends Page<StoredExpectation> {
  /** With `next`: a bounded look has ended, and this is how far back it looked. */
  readonly lookedBackToMs?: number
}

/** What a store knows to be overdue. */
export interface Overdue {
  /** The longest first. Some may have an end by now: `admitOverdue` sees to that. */
  readonly items: readonly { readonly messageKey: string; readonly expectation: Expectation }[]
  /** When the next one will be, if any will and nothing more is overdue now. */
  readonly nextMs: number | undefined
}

/** How much a store holds. */
export interface StoreCounts {
  /** Admitted and not settled: waiting, due, running or to be tried again. */
  readonly unsettled: number
  readonly deadLetters: number
}

/**
 * A process that has opened the store: what it has leased is its own for as long as it shows life. Nobody knows more of it than
 * it has said itself.
 */
export interface StoreHolder {
  /** Chosen at random; a process that was taken for dead goes on under another one. */
  readonly id: string
  /** The machine's name and the process id, as it said them. */
  readonly name: string
  readonly isSelf: boolean
  /** When it came, by the store's clock; undefined where it does not keep that. */
  readonly sinceMs: number | undefined
  /** How long ago it last showed life. */
  readonly silentMs: number
  /** Events under its leases. */
  readonly held: number
}

/** What a store says of itself. */
export interface StoreCapabilities {
  readonly name: string
  /** What is admitted survives the end of the process. */
  readonly durable: boolean
  /** Several processes may share it. */
  readonly shared: boolean
  /** Where the spool of an outage is by default, beside the store's own file; none where it has no place on this disk. */
  readonly spoolFolder?: string
}

/** An open store. `X` is what it adds to a handler's context. */
export interface OpenStore<X extends object = {}> {
  /**
   * What a durable store knows when it is opened: the latest `nowMs` that it was told before, or up to a second earlier;
   * undefined where it was told none. The machine's clock may have been set back since, and the times given from here on
   * are not before this one: else what waits would wait for so much longer.
   */
  readonly latestNowMs?: number | undefined
  /** All or, where it throws, none; in the order given. Atomic with each message's latest state and gap decision. */
  admit(events: readonly NewEvent[], nowMs: number): Awaitable<readonly Admission[]>
  /** Leases what is due, the first event of each message, to whoever asks; nothing of the messages in `exclude`. */
  claim(request: ClaimRequest): Awaitable<ClaimResult>
  /**
   * As `admit`, and then `claim` of what it has just admitted and nothing else, in one step: so that an event that runs
   * where it was taken costs one write less, and its body is not read back. A store need not have it.
   *
   * It claims those of the events that it admitted (as `new` or `late`) that are due now, so wait for no gap, whose message
   * is under no lease and has no other unsettled event ordered before them, and whose message is not in `exclude`: one of a
   * message and at most `limit`, in the order given. It may claim fewer, and what it does not claim is left as by `admit`.
   * A claim is one of `claim`'s in all else; its `record` and `raw` are those given.
   *
   * Where it throws, nothing was admitted and nothing is leased. Where only its answer was lost, as with a connection that
   * was cut, leases may be held that nobody knows of: those events come again when the leases have run out.
   */
  admitAndClaim?(events: readonly NewEvent[], request: ClaimRequest): Awaitable<AdmittedAndClaimed>
  /**
   * Says for each whether the lease still held; where it did not, nothing changed. `failed`: what the handlers did through
   * the context could not be made lasting and was undone; the event is to be settled anew, as one whose handler failed.
   *
   * Who did not hear the answer settles again. A `retry` is answered as before then, until somebody claims the event anew.
   * Whoever gives an event back as `unbegun` has no part in it any more.
   *
   * `lazily`: nobody waits for the answer. A store may put it off by some milliseconds, to write it with what it is asked next.
   */
  settle(
    settlements: readonly Settlement[],
    nowMs: number,
    lazily?: boolean,
  ): Awaitable<readonly (boolean | SettleFailed)[]>
  /**
   * After a settlement that ends an event while something else of its message waits, the store calls `onWork`, once it has
   * answered. Where it does not say so, whoever has settled looks for what is due.
   */
  readonly tellsOfRest?: boolean
  /** How long a settlement that nobody waits for may wait for others, to share a round trip with them; 0 by default. */
  readonly settleHoldMs?: number
  /** The newest state of a message; undefined where nothing is known of it. */
  latest(messageKey: string): Awaitable<StoredLatest | undefined>
  /** Oldest first. */
  deadLetters(page: { readonly after: string | undefined; readonly limit: number }): Awaitable<Page<StoredDeadLetter>>
  /**
   * What is kept of the events, newest first: by their admission, or, where a store has no index of that, by the last that it
   * knows of each. For people who look on: it may walk through all that there is, and what changes between two pages may be on
   * both or on neither. No verb on the way of an event is slower for it.
   *
   * With a filter it looks at a bounded number of events a call, from where `after` says: so a page may be short, and have a
   * `next` from which the look goes on.
   */
  events(page: EventsPage): Awaitable<EventsAnswer>
  /** Ends the state of a dead letter; false where there is no such one. */
  resolve(id: string, resolution: Resolution, nowMs: number): Awaitable<boolean>
  /** Forgets what is older than its retention, a bounded step at a time; says how many it forgot. */
  prune(nowMs: number): Awaitable<number>
  /**
   * Walks, a bounded step at a time, through all that is kept and may name a person: each at least once, in no order that
   * means anything, some twice. A `limit` is what it looks at, so a page may be empty and have a `next`; what comes while it
   * walks need not be among it. A store need not have it; where it has, it has `forget`.
   */
  kept(page: { readonly after: string | undefined; readonly limit: number }): Awaitable<Page<KeptEvent>>
  /**
   * Removes records, bytes, errors, dead letters and the latest state of the targets; of each event the identity stays, so a
   * repetition is a duplicate, and what orders a message. What was not settled is settled by it, so nobody is given it any
   * more: whoever holds it settles in vain (false, and nothing changed), and what follows in its message is due. A report
   * that is new later is taken as any other.
   */
  forget(request: ForgetRequest, nowMs: number): Awaitable<ForgottenCounts>
  /**
   * Remembers of each message that it was sent, and what `claim`, `latest` and the list of dead letters shall hand out with it:
   * durably, as an admission, and all of them or, where it throws, none. One that is known stays as it is. Says for each whether
   * it is new. What of a message awaits the step `EXPECTED` (order.ts) is due, and what comes later does not wait for it. It is
   * kept until it is overdue, and as long as identities are. The latest state of a message and what is unsettled are none
   * the different for it. A store need not have it; where it has, it has the next four.
   */
  expect?(messages: readonly NewExpectation[], nowMs: number): Awaitable<readonly boolean[]>
  /** Those whose time is over, and of which `admitOverdue` has not decided; it changes nothing. */
  overdue?(page: { readonly nowMs: number; readonly limit: number }): Awaitable<Overdue>
  /**
   * Admits each event that says that its message is overdue, unless the message has an end (`hasEnd` of order.ts) or somebody has
   * decided about it: in one step with that decision, which is for good. Says for each whether it was admitted. Where it has no room
   * for any of them it throws.
   */
  admitOverdue?(events: readonly NewEvent[], nowMs: number): Awaitable<readonly boolean[]>
  /**
   * Nothing more is awaited of these, and this is what is kept of each from now on: `overdue` has them no more, `admitOverdue` admits
   * nothing of them, and what was decided stays. One that is not expected stays so.
   */
  awaitNoMore?(ended: readonly EndedExpectation[], nowMs: number): Awaitable<void>
  /**
   * Walks through what was sent from `fromMs` on and before `toMs`, by that time. For people who look on: a `limit` is what it
   * looks at, and what changes between two pages may be on both or on neither.
   */
  expectations?(page: {
    readonly after: string | undefined
    readonly limit: number
    readonly fromMs: number
    readonly toMs: number
    /** This message alone, whenever it was sent. */
    readonly messageKey?: string | undefined
  }): Awaitable<Page<StoredExpectation>>
  /**
   * What was sent to one of these, the newest first. For people who look on: as with a filter of `events`, it looks at a bounded
   * number a call, so a page may be short, and have a `next` from which the look goes on. A store need not have it.
   */
  sentTo?(page: SentToPage): Awaitable<SentToAnswer>
  /** Overwrites what the engine has left of it in free places, where it can; it may take long, and nothing else is done meanwhile. */
  eraseTraces?(): Awaitable<void>
  /** How much it holds now. */
  counts(): Awaitable<StoreCounts>
  /**
   * Whether what is leased of this message is still ours: true where no other process can have taken us for dead, false where
   * one has by now, as after this process stood still; undefined where only the store can tell, which it is asked then. Without
   * this verb, a lease holds until it ends.
   */
  isHeld?(messageKey: string): boolean | undefined
  /** Who has the store open, the longest there first. For people who look on. */
  holders?(): Awaitable<readonly StoreHolder[]>
  /** Nothing is asked of it afterwards. */
  close(): Awaitable<void>
  /**
   * What this store adds to the context of the handlers of a claim. What they do through it is undone where the attempt
   * fails, so a retry runs all of them again.
   */
  readonly contextFor?: ((claim: Claim) => X) | undefined
}

/** Who opens a store. */
export interface StoreHost {
  /** To be called when another process has admitted something, or may have. */
  readonly onWork: () => void
  /** To be told what is wrong though every call succeeds; what a call rejects with is reported by whoever called. */
  readonly report?: (error: MessagingWebhooksError) => void
  /**
   * To be called when what was leased is ours no more, or may soon be somebody else's: of the messages that `isAmong` names.
   * The token decides who may settle it.
   */
  readonly onLost?: ((isAmong: (messageKey: string) => boolean) => void) | undefined
  /** False where nothing will be claimed, so that nobody need be woken. Default true. */
  readonly claims?: boolean
  /** False if no report waits for pending sends in the store. Default true. */
  readonly awaitsAnswers?: boolean
}

/** What `createReceiver({ store })` takes: something that can be opened. */
export interface Store<X extends object = {}> {
  readonly capabilities: StoreCapabilities
  /** Opens, migrates, checks. */
  open(host: StoreHost): Awaitable<OpenStore<X>>
}
