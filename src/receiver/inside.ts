/**
 * What a receiver lets its inspector see beside its public surface. `receiver.ts` registers it under the object that it returns;
 * nobody else can have it.
 */
import type { Clock } from '../runtime/clock.ts'
import type { DetailedCounts } from '../operations/counts.ts'
import type { Typed } from '../dispatch/listed-events.ts'
import type { AttemptWatch } from '../dispatch/work.ts'
import type { EventType } from '../public/events.ts'
import type {
  Admission,
  EventsAnswer,
  EventsPage,
  NewEvent,
  Page,
  SentToAnswer,
  SentToPage,
  StoreCapabilities,
  StoredDeadLetter,
  StoredExpectation,
  StoredLatest,
} from '../inbox/store.ts'
import type { Logger } from '../runtime/logger.ts'

/** Told of what goes through a receiver from now on. It is on the way of each event, so it must be quick, and never throw. */
export interface Watch extends AttemptWatch {
  /** An event was admitted, or was known already. */
  taken(event: NewEvent, admission: Admission): void
}

export interface Inside {
  readonly clock: Clock
  readonly logger: Logger
  readonly capabilities: StoreCapabilities
  /** Those that have a name in the option `projects`, and those that the app has named since, as in `expect`. */
  readonly projects: () => readonly string[]
  /** How long a report is held for an earlier one, or for the word of its send. */
  readonly gapTimeoutMs: number
  /** They go on counting. */
  readonly counts: DetailedCounts
  /** Keys and secrets, which no answer may have. */
  readonly secrets: () => readonly string[]
  /** As the store lists them; undefined where it cannot. */
  readonly events: (page: EventsPage) => Promise<EventsAnswer>
  /** The type that handlers get it as. */
  readonly typeOf: (stored: Typed) => EventType | undefined
  /** As the store has them, oldest first. */
  readonly deadLetters: (page: Pick<EventsPage, 'after' | 'limit'>) => Promise<Page<StoredDeadLetter>>
  readonly latest: (messageKey: string) => Promise<StoredLatest | undefined>
  /** What was expected of the message; undefined where nothing was, or the store keeps nothing of the kind. */
  readonly expected: (messageKey: string) => Promise<StoredExpectation | undefined>
  /** What was sent to somebody, as the store lists it; undefined where it cannot. */
  readonly sentTo: (page: SentToPage) => Promise<SentToAnswer | undefined>
  /** One at a time sees each event; returns the function that ends it. */
  readonly watch: (watch: Watch) => () => void
  /** Called as the receiver begins to close. Returns the function that takes it off again. */
  readonly onClosing: (listener: () => void) => () => void
}

const INSIDES = new WeakMap<object, Inside>()

export function showInside(receiver: object, inside: Inside): void {
  INSIDES.set(receiver, inside)
}

/** Undefined for what `createReceiver` has not returned. */
export function insideOf(receiver: object): Inside | undefined {
  return INSIDES.get(receiver)
}
