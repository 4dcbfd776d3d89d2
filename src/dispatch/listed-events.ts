/**
 * The public API that lists events: the fields that the store still has, and the event itself while its payload is kept.
 */
import { z } from 'zod'
import { checkOptions, pageLimit, textOf } from '../runtime/check-options.ts'
import { defined } from '../runtime/values.ts'
import {
  CARRIERS,
  EVENT_TYPES,
  type Carrier,
  type EventType,
  type CallbackSchemas,
  type WebhookEvent,
} from '../public/events.ts'
import { reportState, type ReportState } from '../inbox/latest.ts'
import { placeOf } from '../messages/order.ts'
import { filledPage } from '../inbox/lists.ts'
import type { EventFilter } from '../inbox/store.ts'
import type { Awaitable, EventsQuery, MessageStore, Page } from '../inbox/store.ts'
import { EVENT_STATES, type EventState, type StoredEvent } from '../messages/views.ts'
import { formsOf } from '../runtime/recipient-forms.ts'
import { typeOf, type Kept, type ReviveOptions } from './revive.ts'

/** An event as `receiver.events` returns it. Fields that the store does not keep are undefined. */
export interface ListedEvent<S extends CallbackSchemas = {}> {
  /** The event's id; the argument of `events.get`. */
  readonly id: string
  /**
   * `due`: waits for its time or its turn. `leased`: a process holds its lease, or held it until it expired. `settled`: its
   * handlers succeeded, or it had none. `dead`: it is a dead letter.
   */
  readonly state: EventState
  /** The type that handlers see, before a schema is applied. Undefined if only the identity is kept. */
  readonly type: EventType | undefined
  readonly project: string | undefined
  /** When the callback arrived. */
  readonly receivedAt: Date | undefined
  /** The time that the list is sorted by: the admission, or the latest time that the store knows. */
  readonly at: Date | undefined
  readonly admittedAt: Date | undefined
  /** When it is due, or until when it is leased. */
  readonly dueAt: Date | undefined
  /** When it was settled or became a dead letter. */
  readonly endedAt: Date | undefined
  /** True if it arrived after a later report of its message was dispatched. */
  readonly late: boolean | undefined
  /** Attempts so far. 0 if it was settled without a handler. */
  readonly attempts: number | undefined
  /** The last error of a dead letter, at most 8 KiB, with secrets masked. */
  readonly error: string | undefined
  /** The report, which the store keeps longer than the payload. */
  readonly report: ReportState | undefined
  /** The event as handlers see it. Undefined once its payload was removed. */
  readonly event: WebhookEvent<S> | undefined
}

/** Options of `receiver.events.list`. All given filters must match. Stores index only `messageId`. */
export interface ListEventsOptions {
  /** The `next` of the previous page. */
  readonly after?: string | undefined
  /** Events per page. Default 100. */
  readonly limit?: number | undefined
  /**
   * Event types. A late report matches `late` and its own type. An event that a schema refused matches the type that it would
   * have had.
   */
  readonly types?: readonly EventType[] | undefined
  readonly project?: string | undefined
  /** The channel name in the callback. */
  readonly channel?: string | undefined
  readonly carrier?: Carrier | undefined
  readonly states?: readonly EventState[] | undefined
  /** Range of `at`: `from` is inclusive, `to` exclusive. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  /** The exact message id, also that of an `unrecognized` event, or the recipient with or without a leading plus. */
  readonly about?: string | undefined
}

/** A page of events. A filtered page may be short or empty and still have a `next`. */
export interface EventsListed<S extends CallbackSchemas = {}> extends Page<ListedEvent<S>> {
  /** Set if the search stopped early: it has covered everything back to this time and continues with `next`. */
  readonly lookedBackTo?: Date
}

/** All events that the store keeps, in any state. */
export interface Events<S extends CallbackSchemas = {}> {
  /**
   * One page, newest first. A filtered call examines about 20,000 events at most, so that it does not occupy the store; the
   * page says how far back it searched.
   */
  list(options?: ListEventsOptions): Promise<EventsListed<S>>
  /** The event with this id, or undefined. Postgres searches the whole table. */
  get(id: string): Promise<ListedEvent<S> | undefined>
  /**
   * The events of a message in dispatch order, at most 1,000. With several projects or a credentials function, `project` is
   * required; without it the call rejects with a `MessagingWebhooksError` (`project_required`).
   */
  ofMessage(messageId: string, options?: { readonly project?: string | undefined }): Promise<readonly ListedEvent<S>[]>
}

interface EventsParts {
  readonly open: () => Awaitable<MessageStore<object>>
  readonly revive: (kept: Kept) => Awaitable<WebhookEvent>
  readonly reviving: ReviveOptions
  readonly keyOf: (messageId: string, project: string | undefined) => string
}

const A_PAGE = 100
const MAX_OF_MESSAGE = 1_000

/** Options of a call about one message. */
export const messageOptions = z.strictObject({ project: textOf('the display name of a project').optional() })
const listOptions = z.strictObject({
  after: textOf('the `next` of a page').optional(),
  limit: pageLimit.optional(),
  types: z.array(z.enum(EVENT_TYPES)).nonempty('expected a non-empty list of types').optional(),
  project: textOf('the display name of a project').optional(),
  channel: textOf('the name of a channel').optional(),
  carrier: z.enum(CARRIERS).optional(),
  states: z.array(z.enum(EVENT_STATES)).nonempty('expected a non-empty list of states').optional(),
  from: z.date().optional(),
  to: z.date().optional(),
  about: textOf('a message id or a recipient').optional(),
})

export function createEvents({ open, revive, reviving, keyOf }: EventsParts): Events {
  async function pageOf(query: EventsQuery): Promise<Page<StoredEvent>> {
    return (await open()).scan(query)
  }

  async function listed(stored: StoredEvent): Promise<ListedEvent> {
    const { id, state, late, attempts, error, record, raw } = stored
    return {
      id,
      state,
      type: storedType(stored, reviving),
      project: record?.project,
      receivedAt: dateOf(record?.receivedAtMs),
      at: dateOf(stored.atMs),
      admittedAt: dateOf(stored.admittedAtMs),
      dueAt: dateOf(stored.dueMs),
      endedAt: dateOf(stored.endedAtMs),
      late,
      attempts,
      error,
      report: record && reportState(record),
      event: record && raw && (await revive({ id, late: late ?? false, record, raw })),
    }
  }

  return {
    async list(options) {
      const given = checkOptions(listOptions, options, 'events.list')
      const { after, limit = A_PAGE, types, from, to, about, ...rest } = given
      const filter: EventFilter = {
        ...rest,
        fromMs: from?.getTime(),
        toMs: to?.getTime(),
        types: types && [...new Set(types.map(recordType))],
        about: about === undefined ? undefined : formsOf(about),
      }
      const { items: stored, next, lookedBackToMs } = await pageOf({ of: 'events', ...filter, after, limit })
      const all = await Promise.all(stored.map(listed))
      return {
        // Stores record one type for all subscription events. Only the payload tells them apart.
        items: all.filter(({ type }) => !isSubscription(type) || types?.includes(type) !== false),
        ...defined({ next, lookedBackTo: dateOf(lookedBackToMs) }),
      }
    },
    async get(id) {
      const { items } = await pageOf({ of: 'events', after: undefined, limit: 1, id })
      return items[0] && listed(items[0])
    },
    async ofMessage(messageId, options) {
      const { project } = checkOptions(messageOptions, options, 'events.ofMessage')
      const messageKey = keyOf(messageId, project)
      return Promise.all(inOrder(await everyEvent(pageOf, messageKey)).map(listed))
    },
  }
}

/** Collects the events of a message over several pages. */
export async function everyEvent(
  pageOf: (query: EventsQuery) => Promise<Page<StoredEvent>>,
  key: string,
): Promise<readonly StoredEvent[]> {
  const { items } = await filledPage({ of: 'events', after: undefined, limit: MAX_OF_MESSAGE, key }, pageOf)
  return items
}

/** The fields that determine the type of an event. */
export type Typed = Pick<StoredEvent, 'id' | 'record' | 'raw'> & Partial<Pick<StoredEvent, 'late'>>

/** The type that handlers see, before a schema is applied. Undefined if too little is kept. */
export function storedType({ id, late, record, raw }: Typed, reviving: ReviveOptions): EventType | undefined {
  if (record === undefined) return undefined
  const isToBeRead = record.report === undefined && record.problem === undefined && record.kind === 'subscription'
  if (isToBeRead && raw === undefined) return undefined
  return typeOf({ id, late: late ?? false, record, raw: raw ?? NO_BYTES }, reviving)
}

const NO_BYTES = Buffer.alloc(0)

/** Sorts in dispatch order. Events of unknown order come last. An overdue event follows the events that arrived before it. */
export function inOrder(events: readonly StoredEvent[]): readonly StoredEvent[] {
  const ordered = events
    .map((event) => ({ event, order: orderOf(event) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ event }) => event)
  const overdue = ordered.find(({ record }) => record?.overdue === true)
  if (overdue === undefined) return ordered
  const madeAtMs = arrivedAtMs(overdue)
  const others = ordered.filter((event) => event !== overdue)
  return others.toSpliced(others.findLastIndex((event) => arrivedAtMs(event) < madeAtMs) + 1, 0, overdue)
}

function arrivedAtMs({ record }: StoredEvent): number {
  return record?.receivedAtMs ?? Infinity
}

/** Greater than any order. */
const NO_ORDER = '~'

/** The stored order, or one rebuilt from the report: stores keep no order of settled events. */
function orderOf({ id, order, record }: StoredEvent): string {
  if (order !== undefined && order !== '') return order
  return record?.report === undefined ? NO_ORDER : placeOf(id, record.report, record).order
}

/** The type as stores record it: one for all subscription events. */
export function recordType(type: EventType): string {
  return isSubscription(type) ? 'subscription' : type
}

function isSubscription(type: EventType | undefined): type is Extract<EventType, `subscription.${string}`> {
  return type?.startsWith('subscription.') === true
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms)
}
