/** The parts of a receiver that only its inspector sees. `receiver.ts` registers them under the object that it returns. */
import type { Clock } from '../runtime/clock.ts'
import type { DetailedCounts, Follower } from '../operations/counts.ts'
import type { Refused } from '../dispatch/dead-letters.ts'
import type { Typed } from '../dispatch/listed-events.ts'
import type { AttemptWatch } from '../dispatch/work.ts'
import type { EventType } from '../public/events.ts'
import type { ItemOf, Page, Query, StoreCapabilities } from '../inbox/store.ts'
import type { MessageRecord } from '../messages/record.ts'
import type { Logger } from '../runtime/logger.ts'

/** Observes the events of a receiver. Called for each event, so it must be fast and never throw. */
export interface Watch extends AttemptWatch, Follower {}

export interface Inspection {
  readonly clock: Clock
  readonly logger: Logger
  readonly capabilities: StoreCapabilities
  /** Names in the option `projects`, and names that the app has used since, for example in `expect`. */
  readonly projects: () => readonly string[]
  /** Maximum wait of a report for an earlier one, or for the record of its send. */
  readonly gapTimeoutMs: number
  /** Live: the receiver updates them in place. */
  readonly counts: DetailedCounts
  /** Numbers of events without a handler, by type. Live. */
  readonly unhandled: ReadonlyMap<EventType, number>
  /** Keys and secrets, which must not appear in any response. */
  readonly secrets: () => readonly string[]
  /** One page of a list of the store. */
  readonly scan: <Q extends Query>(query: Q) => Promise<Page<ItemOf<Q>>>
  /** The oldest events that the store refuses for their content. */
  readonly refused: (limit: number) => Promise<readonly Refused[]>
  /** What the store keeps of a message beside its payloads. */
  readonly record: (key: string) => Promise<MessageRecord | undefined>
  /** The type of the event for handlers. */
  readonly typeOf: (stored: Typed) => EventType | undefined
  /** Sets the one observer. Returns a function that removes it. */
  readonly watch: (watch: Watch) => () => void
  /** Called when the receiver starts to close. Returns a function that removes the listener. */
  readonly onClosing: (listener: () => void) => () => void
}

const INSPECTIONS = new WeakMap<object, Inspection>()

export function allowInspection(receiver: object, inspection: Inspection): void {
  INSPECTIONS.set(receiver, inspection)
}

/** Undefined unless `createReceiver` returned the object. */
export function inspectionOf(receiver: object): Inspection | undefined {
  return INSPECTIONS.get(receiver)
}
