/**
 * The store contract: what memory, SQLite, Postgres and Redis each fulfil.
 *
 * It speaks of meaning and of absolute times (milliseconds since the epoch, so that waiting in a queue lengthens no
 * life). How an engine does it, and that there are connections, is not part of it. What a store must decide atomically,
 * it decides by comparing the fields given here: `order` keys compare as text, and no store looks into a record.
 *
 * A store with a clock of its own, as a server has that many processes share, takes each time as its distance from the
 * `nowMs` of the same call, and puts its own now in the place of that: so no process's clock decides over another's lease.
 */
import type { MessagingWebhooksError } from '../errors.ts'
import type { EventRecord } from './record.ts'

/*
 * Damage. What a store holds may be spoilt behind its back: by another tool, a failing disk, a newer version. One event never
 * harms another, so no verb rejects for it:
 *
 * - An event that cannot be read, or cannot be handed over for what its row says, is set aside alone: `claim` makes a dead
 *   letter of it instead of handing it over, with `damagedRecord` and the bytes that are left (none: an empty buffer), and the
 *   later ones of its message go on. Of one whose row is gone nothing is left to set aside; its message goes on too.
 * - The state of a message that cannot be read (what was handed over, steps, latest state, tokens, times) is made anew as far
 *   as the events tell, by whichever verb meets it: better a repetition, or a report that comes as itself where it was late,
 *   than a loss. Tokens still grow.
 * - Each is reported once, by `host.report`, as `event_damaged` or `state_damaged`, with the id and the place (such as
 *   `events.record`), and never a value. Reading pages, latest states and counts reports nothing.
 * - What no verb would meet any more, such as a message that is due no more while an event of it waits, is found by `prune`.
 */

/** Now or later: a store in memory answers at once, so that the hot path has no promise in it. */
export type Awaitable<T> = T | Promise<T>

/**
 * Under it stands what `raw` is as JSON, less its authKey, where that is known: for whoever runs the event as it is admitted.
 * A symbol, for neither JSON nor a message to another thread takes that along, whatever a store does with the rest.
 */
export const PAYLOAD: unique symbol = Symbol('payload')

/** An event to admit. */
export interface NewEvent {
  /** The identity; what makes it a duplicate. */
  readonly id: string
  /** What the events of one message share. An event of no message has its own `id` here. */
  readonly messageKey: string
  /** Sorts the reports of one message; empty for an event of no message, which has no order and no latest state. */
  readonly order: string
  /** Delivered or failed for good: two such reports of one message are both facts, and neither is late to the other. */
  readonly final: boolean
  /** The chat-app step that this is (a bit), and the step that it waits for until `gapUntilMs`; 0 for none. */
  readonly step: number
  readonly awaits: number
  readonly gapUntilMs: number
  readonly record: EventRecord
  /** The body's bytes, the authKey masked. */
  readonly raw: Buffer
  [PAYLOAD]?: Readonly<Record<string, unknown>> | undefined
}

/**
 * What became of it: `new`; `duplicate`, known already and changing nothing; `late`, kept, but older than what was handed
 * over; `full`, not kept, for the store holds as many unsettled events as it may.
 */
export type Admission = 'new' | 'duplicate' | 'late' | 'full'

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
}

/**
 * Where an event stands: it waits for its time or its turn; somebody has it, or had it until a lease ran out; its handlers
 * have done it, or nobody wanted it; or it is a dead letter.
 */
export type EventState = 'due' | 'leased' | 'settled' | 'dead'

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

/** Which events are listed. */
export interface EventsPage {
  readonly after: string | undefined
  readonly limit: number
  /** Of one message alone. */
  readonly messageKey?: string | undefined
  /** The one with this identity alone. */
  readonly id?: string | undefined
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

/** How much a store holds. */
export interface StoreCounts {
  /** Admitted and not settled: waiting, due, running or to be tried again. */
  readonly unsettled: number
  readonly deadLetters: number
}

/** What a store says of itself. */
export interface StoreCapabilities {
  readonly name: string
  /** What is admitted survives the end of the process. */
  readonly durable: boolean
  /** Several processes may share it. */
  readonly shared: boolean
  /** It goes by a clock of its own, and so has no use for the times that it was told before (`latestNowMs`). */
  readonly ownClock?: boolean
  /** It has `admitAndClaim`. */
  readonly admitsAndClaims?: boolean
  /** It has `events`. */
  readonly listsEvents?: boolean
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
  /** The newest state of a message; undefined where nothing is known of it. */
  latest(messageKey: string): Awaitable<StoredLatest | undefined>
  /** Oldest first. */
  deadLetters(page: { readonly after: string | undefined; readonly limit: number }): Awaitable<Page<StoredDeadLetter>>
  /**
   * What is kept of the events, newest first: by their admission, or, where a store has no index of that, by the last that it
   * knows of each. For people who look on: it may walk through all that there is, and what changes between two pages may be on
   * both or on neither. No verb on the way of an event is slower for it. A store need not have it.
   */
  events?(page: EventsPage): Awaitable<Page<StoredEvent>>
  /** Ends the state of a dead letter; false where there is no such one. */
  resolve(id: string, resolution: Resolution, nowMs: number): Awaitable<boolean>
  /** Forgets what is older than its retention, a bounded step at a time; says how many it forgot. */
  prune(nowMs: number): Awaitable<number>
  /** How much it holds now. */
  counts(): Awaitable<StoreCounts>
  /** Nothing is asked of it afterwards. */
  close(): Awaitable<void>
  /**
   * What this store adds to the context of the handlers of a claim. What they do through it is undone where the attempt
   * fails, so a retry runs all of them again.
   */
  contextFor?(claim: Claim): X
}

/** Who opens a store. */
export interface StoreHost {
  /** To be called when another process has admitted something, or may have. */
  readonly onWork: () => void
  /** To be told what is wrong though every call succeeds; what a call rejects with is reported by whoever called. */
  readonly report?: (error: MessagingWebhooksError) => void
  /** False where nothing will be claimed, so that nobody need be woken. Default true. */
  readonly claims?: boolean
}

/** What `createReceiver({ store })` takes: something that can be opened. */
export interface Store<X extends object = {}> {
  readonly capabilities: StoreCapabilities
  /** Opens, migrates, checks. */
  open(host: StoreHost): Awaitable<OpenStore<X>>
}
