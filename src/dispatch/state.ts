/** What a dispatcher is given and all that it knows: one plain object, which the functions of this folder read and change. */
import { LRUCache } from 'lru-cache'
import { churningMap, type ChurningMap } from '../churning-map.ts'
import type { AttemptMessage } from '../channels.ts'
import type { Clock } from '../clock.ts'
import type { MessagingWebhooksError } from '../errors.ts'
import type { EventType, WebhookEvent } from '../events.ts'
import type { Absence } from '../inbox/absence.ts'
import type { Hold } from '../inbox/in-store-time.ts'
import type {
  Awaitable,
  Claim,
  ClaimRequest,
  NewEvent,
  OpenStore,
  PAYLOAD,
  SettleFailed,
  Settlement,
} from '../inbox/store.ts'
import type { RetryPolicy } from '../backoff.ts'
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

/** The open store, and who settles in it. */
export interface Opened {
  readonly store: OpenStore<object>
  settle(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** The same where nobody waits for it. */
  settleLazily(settlement: Settlement): Awaitable<boolean | SettleFailed>
  /** Of those, where the store has them wait for others. */
  readonly hold: Hold | undefined
}

/** An event in our hands. Nothing else of its message is, even where a lease has run out. */
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
  isFollowed: boolean
  /** Its lease ran out, or was lost, before it was settled: another process may have it. */
  isLost: boolean
  /** The store has forgotten it, or is about to: no handler is begun any more, and it is settled in vain. */
  isForgotten: boolean
}

export interface DispatchState extends DispatchOptions {
  /** Runs what has its slot now. A field, for what it runs gives the slot to the next one. */
  readonly begin: (state: DispatchState, work: Work) => void

  /** Undefined as long as nobody wants to know how long things take. */
  meter: Meter | undefined
  /** Undefined as long as nobody looks on. */
  watch: AttemptWatch | undefined
  /** Undefined until the store is open: nothing is leased before. */
  opened: Opened | undefined
  /** Settlements that wait for others. */
  readonly holds: Hold[]
  /** Nothing more is asked for. What is leased already, or will be by what is under way, still runs. */
  stopped: boolean
  /** Stopped, and what ran then was waited for. */
  over: boolean

  /** What is in hand, whether it runs, hangs or waits for a slot, by message. */
  readonly inHand: ChurningMap<string, Work>
  /** How many there are, the hung ones apart. */
  atWork: number
  slotsUsed: number
  /** They wait for a slot, in turn. */
  waitingForSlot: Work[]
  isHandingOutSlots: boolean
  /** Requests to the store under way: there is room for what they may bring. */
  readonly roomHeld: ClaimRequest[]
  /** How long the handlers of an event take lately; Infinity as long as nothing is known. */
  attemptMs: number

  /** So many claims in a row brought all that they asked for: more may be due. */
  fullClaims: number
  /** Claims that were answered: they tell that the claim loop goes round. */
  turns: number
  /** The longest due event that was not in hand has waited since then, as far as claims tell; Infinity where there is none. */
  waitingSinceMs: number
  /** The last claim found something. */
  foundLast: boolean
  /** An event that was admitted here may wait for a step of its message until then. */
  gapUntilMs: number

  /** Something may be due, so that a claim is made soon, or again. */
  isWoken: boolean
  isClaiming: boolean
  /** When the claim loop's timer fires. */
  timerMs: number
  /** When something that we were told of may be due: a claim that began before knows nothing of it. */
  toldMs: number
  cancelTimer: () => void
  /** Of a look that was put off; undefined where none was. */
  cancelLater: (() => void) | undefined
  /** So many wait for all to be settled, so that no settlement is put off. */
  hurried: number

  /** What has succeeded of events between two attempts; after a restart all of their handlers run. */
  readonly succeeded: LRUCache<string, readonly Registration[]>
  isWatchingLeases: boolean

  /** Told at every change: an attempt or a claim is over. */
  readonly waitingForChange: Set<() => void>
  /** Told when the next attempt of an event is over or none will be made, by the event. */
  readonly waitingForAttempt: Map<string, Set<() => void>>
}

/** Events whose succeeded handlers are remembered. */
const PARTLY_DONE_KEPT = 10_000

/** So many full claims in a row are a backlog; a single one is a burst. */
export const BACKLOG = 2

export function createState(options: DispatchOptions, begin: DispatchState['begin']): DispatchState {
  return {
    ...options,
    begin,
    meter: undefined,
    watch: undefined,
    opened: undefined,
    holds: [],
    stopped: false,
    over: false,
    inHand: churningMap(),
    atWork: 0,
    slotsUsed: 0,
    waitingForSlot: [],
    isHandingOutSlots: false,
    roomHeld: [],
    attemptMs: Infinity,
    // At first nothing is known.
    fullClaims: BACKLOG,
    turns: 0,
    waitingSinceMs: Infinity,
    foundLast: true,
    gapUntilMs: -Infinity,
    isWoken: false,
    isClaiming: false,
    timerMs: Infinity,
    toldMs: Infinity,
    cancelTimer() {},
    cancelLater: undefined,
    hurried: 0,
    succeeded: new LRUCache({ max: PARTLY_DONE_KEPT }),
    isWatchingLeases: false,
    waitingForChange: new Set(),
    waitingForAttempt: new Map(),
  }
}
