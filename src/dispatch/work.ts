/** What a dispatcher is given, an event in flight, and those who follow what becomes of it. */
import type { AttemptMessage } from '../public/channels.ts'
import type { Clock } from '../runtime/clock.ts'
import type { MessagingWebhooksError, NamedEvent } from '../public/errors.ts'
import type { EventType, WebhookEvent } from '../public/events.ts'
import type { Absence } from '../inbox/absence.ts'
import type { Hold } from '../inbox/in-store-time.ts'
import type { Awaitable, Claim, NewEvent, OpenStore, PAYLOAD, SettleFailed, Settlement } from '../inbox/store.ts'
import type { RetryPolicy } from '../runtime/backoff.ts'
import type { HandlerRegistry, Registration } from './handlers.ts'
import type { ReviveOptions } from './revive.ts'

export interface DispatchOptions {
  readonly clock: Clock
  readonly handlers: HandlerRegistry
  readonly retry: RetryPolicy
  /** Messages whose handlers run at once. */
  readonly concurrency: number
  readonly handlerTimeoutMs: number
  /** How long to wait for an answer of the store: a connection may fall silent. */
  readonly storeTimeoutMs: number
  /** Other processes may share the store; where none does, nobody else can have taken an event. */
  readonly shared: boolean
  readonly reviving: ReviveOptions
  readonly absence: Absence
  readonly report: (error: MessagingWebhooksError) => void
  /** An attempt is over and somebody listens to its channel; `succeeded` where no handler is left to run. */
  readonly handedOver: (event: WebhookEvent, succeeded: boolean) => void
  /** What is said of an attempt to those who follow it. */
  readonly attemptMessage: (event: WebhookEvent, claim: Pick<Claim, 'attempt' | 'replay' | 'record'>) => AttemptMessage
  /** No handler listens to this one. */
  readonly unhandled: (event: WebhookEvent) => void
  /** Keys and secrets, which no error text may keep. */
  readonly secrets: () => readonly string[]
}

/** The verbs of a store that are on an event's way. */
export type MeasuredVerb = 'admit' | 'admitAndClaim' | 'claim' | 'settle'

/** Told how long things take, from when on somebody wants to know. */
export interface Meter {
  /** Of an attempt: how long its handlers ran, or until they were given up. */
  attempted(type: EventType, outcome: 'succeeded' | 'failed' | 'timed_out', tookMs: number): void
  /** An event is done with for good. */
  settled(outcome: 'done' | 'dead', sinceArrivalMs: number): void
  /** The same verbs, each call of which is measured. */
  measured(store: OpenStore<object>): Pick<OpenStore<object>, MeasuredVerb>
}

/** An attempt, for whoever looks on: read at once, for its lists go on changing. */
export interface AttemptSeen {
  readonly work: Work
  /** Those of the event's type, in their order. */
  readonly registrations: readonly Registration[]
  /** Those that have succeeded, in this attempt or before it. */
  readonly done: readonly Registration[]
  readonly before: readonly Registration[]
  /** When each handler ended that was called, where there are several. */
  readonly stamps: readonly number[] | undefined
  /** By those that failed, in their order. */
  readonly thrown: readonly unknown[]
}

/** What became of an attempt. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'timed out' | 'lost'

/** Told how each attempt went, from when on somebody looks on. */
export interface AttemptWatch {
  /** Called on the way of each event; it never throws. */
  attempted(attempt: AttemptSeen, outcome: AttemptOutcome, endedAtMs: number): void
}

/** How far a dispatcher has come to its end. Only `stop` changes it. */
export interface Phase {
  /** Nothing more is claimed. What is leased already, or will be by what is under way, still runs. */
  readonly isStopped: boolean
  /** Stopped, and nobody waits any more for what runs. */
  readonly isOver: boolean
}

/** Those who follow. Each is undefined as long as nobody asks for it. */
export interface Observers {
  readonly meter: Meter | undefined
  readonly watch: AttemptWatch | undefined
}

/** The open store, and who settles in it. */
export interface Opened {
  readonly store: OpenStore<object>
  settle(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** The same where nobody waits for it. */
  settleLazily(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** Of those, where the store has them wait for others. */
  readonly hold: Hold | undefined
}

/**
 * An event in flight: leased here and not done with. Nothing else of its message is in flight, even where a lease has expired. What
 * the slots say of it (`hasSlot`, `isHung`, `isOver`) only they change.
 */
export interface Work {
  readonly claim: Claim
  readonly from: Opened
  readonly leaseUntilMs: number
  readonly controller: AbortController
  /** What its bytes are as JSON, where that is known; the attempt makes it the event's own. */
  readonly payload: NewEvent[typeof PAYLOAD]
  /** What the store adds to the handlers' context. */
  extras: object | undefined
  /** It has had its slot, and waits for none any more. */
  isBegun: boolean
  begunAtMs: number
  hasSlot: boolean
  /** Its handlers run. */
  isRunning: boolean
  /** A handler of it has run past its time and has not settled. */
  isHung: boolean
  /** Nothing is left to do here. */
  isOver: boolean
  /** Something of its message was admitted here since, and has to wait for it. */
  hasSuccessor: boolean
  /** Its lease ran out, or was lost, before it was settled: another process may have it. */
  isLost: boolean
  /** The store has forgotten it, or is about to: no handler is begun any more, and it is settled in vain. */
  isForgotten: boolean
}

/** What a claim is called before it is read, or where it cannot be. */
export function nameOf({ id, record: { report, kind } }: Claim): NamedEvent {
  return { id, type: report?.type ?? kind ?? 'unrecognized', messageId: report?.messageId }
}
