/** The dispatcher's options, an event in flight, and the observers of attempts. */
import type { AttemptMessage } from '../public/channels.ts'
import type { Clock, RetryPolicy } from '../runtime/clock.ts'
import type { MessagingWebhooksError, NamedEvent } from '../public/errors.ts'
import type { EventType, WebhookEvent } from '../public/events.ts'
import type { StoreAvailability } from '../inbox/availability.ts'
import type { Awaitable, HandlerTransaction, MessageStore } from '../inbox/store.ts'
import type { Settle, Settled } from '../messages/commands.ts'
import type { NewEvent, PAYLOAD } from '../messages/event-record.ts'
import type { Claim } from './claim.ts'
import type { HandlerRegistry, Registration } from './handlers.ts'
import type { ReviveOptions } from './revive.ts'

export interface DispatchOptions {
  readonly clock: Clock
  readonly handlers: HandlerRegistry
  readonly retry: RetryPolicy
  /** Maximum number of messages with running handlers. */
  readonly concurrency: number
  readonly handlerTimeoutMs: number
  /** Time limit for a response of the store, because a connection may stop responding. */
  readonly storeTimeoutMs: number
  /** Whether other processes may share the store. Without them, no lease is lost. */
  readonly shared: boolean
  readonly reviving: ReviveOptions
  readonly availability: StoreAvailability
  readonly report: (error: MessagingWebhooksError) => void
  /** Builds the message about an attempt for subscribers of its channel. */
  readonly attemptMessage: (event: WebhookEvent, claim: Pick<Claim, 'attempt' | 'replay' | 'record'>) => AttemptMessage
  /** Called for an event without a handler. */
  readonly unhandled: (event: WebhookEvent) => void
  /** Keys and secrets to mask in error texts. */
  readonly secrets: () => readonly string[]
}

/** The calls of the store on an event's path. `claim`: finding and leasing due events. */
export type MeasuredCall = 'admit' | 'claim' | 'settle'

/** Records durations, once metrics are requested. */
export interface Meter {
  /** How long the handlers of an attempt ran, or until they were abandoned. */
  attempted(type: EventType, outcome: 'succeeded' | 'failed' | 'timed_out', tookMs: number): void
  /** Records that an event was settled or became a dead letter. */
  settled(outcome: 'done' | 'dead', sinceArrivalMs: number): void
  /** Makes a call of the store, and records how long it took. */
  timed<T>(call: MeasuredCall, make: () => Awaitable<T>): Awaitable<T>
}

/** An attempt as observers see it. Read it synchronously: its lists change afterwards. */
export interface AttemptSeen {
  readonly work: Work
  /** The handlers of the event's type, in order. */
  readonly registrations: readonly Registration[]
  /** The handlers that have succeeded in this attempt or before it. */
  readonly done: readonly Registration[]
  readonly before: readonly Registration[]
  /** When each called handler ended, if there are several. */
  readonly stamps: readonly number[] | undefined
  /** Errors of the handlers that failed, in order. */
  readonly thrown: readonly unknown[]
}

/** `unhandled`: no handler listens to the type of the event. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'timed out' | 'lost' | 'unhandled'

/** Observes attempts, once the inspector or another observer asks for it. */
export interface AttemptWatch {
  /** Called for every attempt. Must not throw. */
  attempted(attempt: AttemptSeen, outcome: AttemptOutcome, endedAtMs: number): void
  /** Called when these events are erased. */
  forgotten(isMeant: (event: Pick<Claim, 'id' | 'messageKey'>) => boolean): void
}

/** The shutdown state. Only `stop` changes it. */
export interface Phase {
  /** No further claims. Events that are leased, or that pending requests return, still run. */
  readonly isStopped: boolean
  /** Stopped, and running handlers are no longer awaited. */
  readonly isOver: boolean
}

/** Observers. Each is undefined until something asks for it. */
export interface Observers {
  readonly meter: Meter | undefined
  readonly watch: AttemptWatch | undefined
}

/** The open store and its settlement batches. */
export interface Opened {
  readonly store: MessageStore<object>
  settle(settlement: Settle): Awaitable<Settled>
  /** Like `settle`, for settlements that nothing waits for. */
  settleDeferrable(settlement: Settle): Awaitable<Settled>
}

/**
 * An event in flight: leased by this process and not settled yet. Nothing else of its message is in flight, even if its lease
 * has expired. Only the slots change `hasSlot`, `isHung` and `isOver`.
 */
export interface Work {
  readonly claim: Claim
  readonly from: Opened
  readonly leaseUntilMs: number
  readonly controller: AbortController
  /** The parsed body, if known. The attempt hands it to the event. */
  readonly payload: NewEvent[typeof PAYLOAD]
  /** The transaction of the store that its handlers run in. */
  transaction: HandlerTransaction<object> | undefined
  /** It has been given a slot. */
  isStarted: boolean
  begunAtMs: number
  hasSlot: boolean
  isRunning: boolean
  /** A handler timed out and is still pending. */
  isHung: boolean
  /** The event is no longer tracked, because it needs nothing more here. */
  isOver: boolean
  /** A later event of its message was admitted here and waits for it. */
  hasSuccessor: boolean
  /** Its lease expired or was lost before the settlement. Another process may have the event. */
  isLost: boolean
  /** The event is being erased: no further handlers start, and its settlement has no effect. */
  isForgotten: boolean
}

/** Names the event of a claim without reviving it. */
export function nameOf({ id, record: { report, kind } }: Claim): NamedEvent {
  return { id, type: report?.type ?? kind ?? 'unrecognized', messageId: report?.messageId }
}
