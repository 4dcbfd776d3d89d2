/** Events as users look for them: what the store still knows of each, and the event itself where its bytes are kept. */
import { defined } from '../runtime/defined.ts'
import type { Carrier, EventType, Schemas, WebhookEvent } from '../public/events.ts'
import { reportState, type ReportState } from '../inbox/latest.ts'
import { placeOf } from '../messages/order.ts'
import { filledPage } from '../inbox/pages.ts'
import type {
  Awaitable,
  EventFilter,
  EventsAnswer,
  EventsPage,
  EventState,
  OpenStore,
  Page,
  StoredEvent,
} from '../inbox/store.ts'
import { formsOf } from '../runtime/recipient-forms.ts'
import { typeOf, type Kept, type ReviveOptions } from './revive.ts'

/** An event as `receiver.events` shows it. What the store does not keep of it, or not any more, is undefined. */
export interface ListedEvent<S extends Schemas = {}> {
  /** The event's identity. */
  readonly id: string
  /**
   * `due`: it waits for its time or its turn. `leased`: a process has it, or had it until a lease ran out. `settled`: its handlers have
   * done it, or nobody wanted it. `dead`: it is a dead letter.
   */
  readonly state: EventState
  /** The type that handlers get it as, before a schema is asked. Undefined where only the identity is kept. */
  readonly type: EventType | undefined
  readonly project: string | undefined
  /** When its callback came. */
  readonly receivedAt: Date | undefined
  /** The time that the list goes by: of its admission, or the last that the store knows. */
  readonly at: Date | undefined
  readonly admittedAt: Date | undefined
  /** From when on it may run, or until when it is leased. */
  readonly dueAt: Date | undefined
  /** Settled or dead since. */
  readonly endedAt: Date | undefined
  /** It came after a later report of its message had been handed over. */
  readonly late: boolean | undefined
  /** How often it was handed over. */
  readonly attempts: number | undefined
  /** Of a dead letter: what a handler threw last, at most 8 KiB, without keys. */
  readonly error: string | undefined
  /** Of a report: what is kept of it, also where its bytes are not. */
  readonly report: ReportState | undefined
  /** As handlers get it; undefined where its bytes are no longer kept. */
  readonly event: WebhookEvent<S> | undefined
}

/** What `receiver.events.list` takes: all that is given must hold. No store has an index for any of it but `messageId`. */
export interface ListEventsOptions {
  /** The `next` of a page, for the one that follows. */
  readonly after?: string | undefined
  /** Events a page. Default 100. */
  readonly limit?: number | undefined
  /** Of these types. A late report is found as `late` and by its own type; what a schema refused, by the type that it would have. */
  readonly types?: readonly EventType[] | undefined
  readonly project?: string | undefined
  /** The channel as the callback names it. */
  readonly channel?: string | undefined
  readonly carrier?: Carrier | undefined
  readonly states?: readonly EventState[] | undefined
  /** Not before this time, and before that: by `at`. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  /** The message id is exactly this; or the recipient, whose number may be written with a plus or without. */
  readonly about?: string | undefined
}

/** A page of events; with a filter it may have few, or none, and a `next` all the same. */
export interface EventsListed<S extends Schemas = {}> extends Page<ListedEvent<S>> {
  /** Where a look through many has ended early: it has gone back to this time, and goes on with `next`. */
  readonly lookedBackTo?: Date
}

/** What came and is kept, whatever became of it. */
export interface Events<S extends Schemas = {}> {
  /**
   * The newest first, a page at a time. A call with a filter looks at some 20,000 events at most, so that no store is held up by a
   * question of people; the page says how far back it looked.
   */
  list(options?: ListEventsOptions): Promise<EventsListed<S>>
  /** The one with this id; undefined where there is none. On Postgres it is looked for in the whole table. */
  get(id: string): Promise<ListedEvent<S> | undefined>
  /**
   * Those of a message in the order in which they are handed over, at most 1,000. With several projects, or a credentials function,
   * `project` is needed: rejects with a `MessagingWebhooksError` (`project_required`) without.
   */
  ofMessage(messageId: string, options?: { readonly project?: string | undefined }): Promise<readonly ListedEvent<S>[]>
}

interface EventsParts {
  readonly open: () => Awaitable<OpenStore<object>>
  readonly revive: (kept: Kept) => Awaitable<WebhookEvent>
  readonly reviving: ReviveOptions
  readonly keyOf: (messageId: string, project: string | undefined) => string
}

const A_PAGE = 100
const MOST_OF_MESSAGE = 1_000

export function createEvents({ open, revive, reviving, keyOf }: EventsParts): Events {
  async function pageOf(page: EventsPage): Promise<EventsAnswer> {
    return (await open()).events(page)
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
    async list({ after, limit = A_PAGE, types, from, to, about, ...rest } = {}) {
      const filter: EventFilter = {
        ...rest,
        fromMs: from?.getTime(),
        toMs: to?.getTime(),
        types: types && [...new Set(types.map(recordType))],
        about: about === undefined ? undefined : formsOf(about),
      }
      const { items: stored, next, lookedBackToMs } = await pageOf({ ...filter, after, limit })
      const all = await Promise.all(stored.map(listed))
      return {
        // Which subscription it is, only its payload tells.
        items: all.filter(({ type }) => !isSubscription(type) || types?.includes(type) !== false),
        ...defined({ next, lookedBackTo: dateOf(lookedBackToMs) }),
      }
    },
    async get(id) {
      const { items } = await pageOf({ after: undefined, limit: 1, id })
      return items[0] && listed(items[0])
    },
    async ofMessage(messageId, { project } = {}) {
      const messageKey = keyOf(messageId, project)
      return Promise.all(inOrder(await everyEvent(pageOf, messageKey)).map(listed))
    },
  }
}

/** All events of a message, as far as a page of them goes; a store may look for them a while at a time. */
export async function everyEvent(
  pageOf: (page: EventsPage) => Promise<EventsAnswer>,
  messageKey: string,
): Promise<readonly StoredEvent[]> {
  const { items } = await filledPage({ after: undefined, limit: MOST_OF_MESSAGE, messageKey }, pageOf)
  return items
}

/** The type that handlers get it as, before a schema is asked; undefined where too little is kept to tell. */
export function storedType({ id, late, record, raw }: StoredEvent, reviving: ReviveOptions): EventType | undefined {
  if (record === undefined) return undefined
  const isToBeRead = record.report === undefined && record.problem === undefined && record.kind === 'subscription'
  if (isToBeRead && raw === undefined) return undefined
  return typeOf({ id, late: late ?? false, record, raw: raw ?? NO_BYTES }, reviving)
}

const NO_BYTES = Buffer.alloc(0)

/** As they are handed over; what has no known place comes last. What is overdue stands behind what had come by then. */
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

/** As it was written, or anew from the report, where the store keeps no order of a settled one. */
function orderOf({ id, order, record }: StoredEvent): string {
  if (order !== undefined && order !== '') return order
  return record?.report === undefined ? NO_ORDER : placeOf(id, record.report, record).order
}

/** What a store calls it. */
export function recordType(type: EventType): string {
  return isSubscription(type) ? 'subscription' : type
}

function isSubscription(type: EventType | undefined): type is Extract<EventType, `subscription.${string}`> {
  return type?.startsWith('subscription.') === true
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms)
}
