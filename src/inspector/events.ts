/** Queries of events: by filters within a limit, by id, by message and by recipient; and exports of lists. */
import { everyEvent, recordType } from '../dispatch/listed-events.ts'
import { listedAt } from '../messages/expected.ts'
import { messageKey } from '../messages/order.ts'
import { everyPage, filledPage } from '../inbox/lists.ts'
import type { EventFilter } from '../inbox/store.ts'
import type { EventsQuery, Page, SendsQuery } from '../inbox/store.ts'
import { sendIn, type StoredEvent, type StoredExpectation } from '../messages/views.ts'
import { formsOf } from '../runtime/recipient-forms.ts'
import type { Inspection } from '../receiver/inspection.ts'
import { dateOf, outcomeOf, rowOf, sentOf, type EventRow } from './rows.ts'
import type { Kept } from './quarantine.ts'
import type { ListQuery } from './server.ts'

/** Maximum number of calls to the store per search. Each call examines a limited number of events. */
const MAX_LOOKS = 5
/** The same limit for sends, of which a call examines fewer. */
const MAX_LOOKS_AT_SENDS = 10
const MAX_RESENT = 200
const MAX_UNRECOGNIZED = 100
const MAX_PROJECTS = 100

export interface MessageName {
  readonly messageId: string
  readonly project: string | undefined
}

export type Finding = ReturnType<typeof createFinding>

export function createFinding({ scan, record, projects }: Inspection) {
  /** The possible keys of a message. A receiver with one project keys messages by their ids alone. */
  function keysOf({ messageId, project }: MessageName): readonly string[] {
    const names = project === undefined ? projects().slice(0, MAX_PROJECTS) : [project]
    return [undefined, ...names].map((name) => messageKey(name, messageId))
  }

  return {
    page: (query: EventsQuery): Promise<Page<StoredEvent>> => filledPage(query, scan, MAX_LOOKS),
    /** The sends to a recipient. */
    sentTo: (query: SendsQuery): Promise<Page<StoredExpectation>> => filledPage(query, scan, MAX_LOOKS_AT_SENDS),
    /** Finds an event by an index if `of` names its message. An id alone may require a search of the whole table. */
    async event(id: string, of?: MessageName): Promise<StoredEvent | undefined> {
      // An event without a message has its own id as key.
      for (const key of [...(of === undefined ? [] : keysOf(of)), id, undefined]) {
        const { items } = await scan({ of: 'events', after: undefined, limit: 1, id, key })
        if (items[0] !== undefined) return items[0]
      }
      return undefined
    },
    /** Unrecognized events that name the message. They have keys of their own, so this is a search. */
    async unrecognizedOf({ messageId, project }: MessageName, fromMs: number) {
      const filter = { types: ['unrecognized'], about: [messageId], fromMs }
      const query = { of: 'events', ...filter, after: undefined, limit: MAX_UNRECOGNIZED } as const
      const { items } = await filledPage(query, scan, MAX_LOOKS)
      // A body may leave out the project.
      return items.filter(({ record }) => (record?.project ?? project) === (project ?? record?.project))
    },
    /** The message that `resend` sent in place of this one. */
    async resentAs({ expectation }: StoredExpectation): Promise<string | undefined> {
      const { messageId, to, repeatedAtMs: fromMs } = expectation
      if (fromMs === undefined) return undefined
      const about = { to: to === undefined ? undefined : formsOf(to), fromMs, toMs: fromMs + 1 }
      const query = { of: 'sends', ...about, after: undefined, limit: MAX_RESENT } as const
      const { items } = await filledPage(query, scan, MAX_LOOKS_AT_SENDS)
      return items.find((sent) => sent.expectation.resendOf === messageId)?.expectation.messageId
    },
    /** The stored data of a message: its events, newest first, its send, or both. */
    async ofMessage(name: MessageName) {
      for (const key of keysOf(name)) {
        const [found, known] = await Promise.all([everyEvent(scan, key), record(key)])
        const sent = known && sendIn(key, known)
        if (found.length > 0 || sent !== undefined) return { messageKey: key, events: found, sent, record: known }
      }
      return undefined
    },
  }
}

// prettier-ignore
const STATES = {
  waiting: 'due', running: 'leased', retrying: 'due', settled: 'settled', unhandled: 'settled', dead: 'dead',
} as const

const MAX_SENT = 20
const NOTHING = { events: [], sent: undefined, messageKey: undefined }
/** An event id as receivers create it. */
const IDENTITY = /^[0-9a-f]{32}$/

/** GET api/events. */
export async function listEvents(query: ListQuery, { typeOf }: Inspection, finding: Finding, kept?: Kept) {
  const { q, type, outcome, project, channel, after, limit } = query
  const filter: EventFilter = {
    types: type && [recordType(type)],
    project,
    channel,
    carrier: query.carrier,
    states: outcome && [STATES[outcome]],
    fromMs: query.from,
    toMs: query.to,
  }

  /** Finds an exact id, which is shown whatever the filters. */
  async function named(wanted: string) {
    const byId = IDENTITY.test(wanted) ? await finding.event(wanted) : undefined
    if (byId !== undefined) return { ...NOTHING, events: [byId] }
    return finding.ofMessage({ messageId: wanted, project })
  }

  function isShown(stored: StoredEvent): boolean {
    // Stores record one type for all subscription events. Only the payload tells them apart.
    const kind = typeOf(stored)
    const isType = type === undefined || kind === type || kind?.startsWith('subscription.') !== true
    return isType && (outcome === undefined || outcomeOf(stored) === outcome)
  }

  const {
    events,
    sent,
    messageKey: key,
  } = (q !== undefined && after === undefined ? await named(q) : undefined) ?? NOTHING
  const about = q === undefined ? undefined : formsOf(q)
  const isFound = events.length > 0
  const [page, sentTo]: [Page<StoredEvent>, Page<StoredExpectation> | undefined] = await Promise.all([
    isFound ? { items: events } : finding.page({ of: 'events', ...filter, about, after, limit }),
    isFound || sent !== undefined || after !== undefined || about === undefined
      ? undefined
      : finding.sentTo({
          of: 'sends',
          to: about,
          after: undefined,
          limit: MAX_SENT,
          fromMs: query.from ?? -Infinity,
          toMs: query.to ?? Infinity,
        }),
  ])
  const isWanted = (each: ReturnType<typeof sentOf>): boolean =>
    (project ?? each.project) === each.project && (channel ?? each.channel) === each.channel
  const sends = (sentTo?.items ?? []).map(sentOf).filter(isWanted)
  const known = events.find(({ record }) => record !== undefined)?.record?.project
  return {
    items: page.items.filter((stored) => isFound || isShown(stored)).map((stored) => rowOf(stored, typeOf)),
    next: page.next,
    /** Set if the search ended at its limit: how far back it went. */
    lookedBackTo: dateOf(page.lookedBackToMs),
    /** Set if `q` is the id of a message, which may have no events yet. */
    message: key && q ? { messageId: q, project: sent?.expectation.project ?? known ?? project } : undefined,
    /** Set if `q` is a recipient: the newest sends to it, and the time before which there may be more. */
    sent: sends.length > 0 ? sends : undefined,
    /** The refused requests about `q`, on the first page. */
    refused: q === undefined || after !== undefined ? undefined : await kept?.about(q),
    sentBefore: sentTo?.next === undefined ? undefined : sentBeforeOf(sentTo),
  }
}

/** Sends of the same millisecond may be skipped or repeated. */
function sentBeforeOf({ items, lookedBackToMs }: Page<StoredExpectation>): Date | undefined {
  const last = items.at(-1)
  return dateOf((lookedBackToMs ?? (last === undefined ? 0 : listedAt(last.expectation))) + 1)
}

const MAX_EXPORTED = 5_000
const PAGE_EXPORTED = 200

/** GET api/events.csv and api/events.json: the newest events that match the filters. */
export async function exportedEvents(
  query: ListQuery,
  inspection: Inspection,
  finding: Finding,
): Promise<readonly EventRow[]> {
  const rows: EventRow[] = []
  for await (const { items } of everyPage((after) =>
    listEvents({ ...query, after, limit: PAGE_EXPORTED }, inspection, finding),
  )) {
    rows.push(...items)
    if (rows.length >= MAX_EXPORTED) break
  }
  return rows.slice(0, MAX_EXPORTED)
}

// prettier-ignore
const COLUMNS = [
  'receivedAt', 'type', 'outcome', 'project', 'messageId', 'about', 'recipient', 'status', 'statusCode', 'channel', 'carrier',
  'network', 'late', 'attempts', 'error', 'occurredAt', 'admittedAt', 'dueAt', 'endedAt', 'kind', 'proof', 'id',
] as const satisfies readonly (keyof EventRow)[]

export function asCsv(rows: readonly EventRow[]): string {
  return csvOf(COLUMNS, rows)
}

type Cell = string | number | boolean | Date | undefined

/** CSV that spreadsheets open as text. */
function csvOf<K extends string>(columns: readonly K[], rows: readonly Readonly<Partial<Record<K, Cell>>>[]): string {
  const lines = rows.map((row) => columns.map((name) => cellOf(row[name])).join(','))
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`
}

/** Escapes text that a spreadsheet would treat as a formula. A phone number with a plus is harmless. */
function cellOf(value: Cell): string {
  const text = value instanceof Date ? value.toISOString() : String(value ?? '')
  const plain = text.replace(/^(?=[=\-@\t\r]|\+(?!\d+$))/, "'")
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
