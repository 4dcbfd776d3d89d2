/** Events as the store has them: by filters in bounded looks, by id, by message and by recipient; and lists of them to save. */
import { everyEvent, recordType } from '../dispatch/listed-events.ts'
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { listedAt } from '../messages/expected.ts'
import { messageKey } from '../messages/order.ts'
import { filledPage } from '../inbox/pages.ts'
import type {
  EventFilter,
  EventsAnswer,
  EventsPage,
  EventState,
  SentToAnswer,
  SentToPage,
  StoredEvent,
  StoredExpectation,
} from '../inbox/store.ts'
import { formsOf } from '../runtime/recipient-forms.ts'
import type { Inside } from '../receiver/inside.ts'
import type { Rights } from './options.ts'
import { iso, outcomeOf, rowOf, sentRow } from './rows.ts'
import { limitIn, textIn, timeIn, wordIn, wordsIn } from './queries.ts'
import type { EventList, EventRow, Outcome } from './shapes.ts'

/** A store looks at some; so often it is asked to go on before the answer says how far the look went. */
const MOST_LOOKS = 5
/** The same of what was sent, of which a store looks at fewer. */
const MOST_LOOKS_AT_SENT = 10
const MOST_PROJECTS = 100

export interface MessageName {
  readonly messageId: string
  readonly project: string | undefined
}

/** What is known of a message: at least one of both. */
export interface OfMessage {
  readonly messageKey: string
  /** Newest first. */
  readonly events: readonly StoredEvent[]
  readonly sent: StoredExpectation | undefined
}

export interface Finding {
  page(page: EventsPage): Promise<EventsAnswer>
  /** An id alone may be looked for in a whole table; with its message it is found at once. */
  event(id: string, of?: MessageName): Promise<StoredEvent | undefined>
  /** What was sent to a recipient; nothing where the store cannot tell. */
  sentTo(page: SentToPage): Promise<SentToAnswer>
  ofMessage(messageId: string, project: string | undefined): Promise<OfMessage | undefined>
}

export function createFinding({
  events,
  expected,
  sentTo,
  projects,
}: Pick<Inside, 'events' | 'expected' | 'sentTo' | 'projects'>): Finding {
  /** A receiver of one project keeps messages by their ids alone; the events tell which kind it is. */
  function keysOf(messageId: string, project: string | undefined): readonly string[] {
    const names = project === undefined ? projects().slice(0, MOST_PROJECTS) : [project]
    return [undefined, ...names].map((name) => messageKey(name, messageId))
  }

  return {
    page: (page) => filledPage(page, events, MOST_LOOKS),
    sentTo: (page) => filledPage(page, async (some) => (await sentTo(some)) ?? { items: [] }, MOST_LOOKS_AT_SENT),
    async event(id, of) {
      // An event of no message has its own id as the key.
      const keys = of === undefined ? [] : keysOf(of.messageId, of.project)
      for (const key of [...keys, id]) {
        const { items } = await events({ after: undefined, limit: 1, id, messageKey: key })
        if (items[0] !== undefined) return items[0]
      }
      return (await events({ after: undefined, limit: 1, id })).items[0]
    },
    async ofMessage(messageId, project) {
      for (const key of keysOf(messageId, project)) {
        const [found, sent] = await Promise.all([everyEvent(events, key), expected(key)])
        if (found.length > 0 || sent !== undefined) return { messageKey: key, events: found, sent }
      }
      return undefined
    },
  }
}

const OUTCOMES = ['waiting', 'running', 'retrying', 'settled', 'dead'] as const satisfies readonly Outcome[]
const STATES: Readonly<Record<Outcome, EventState>> = {
  waiting: 'due',
  running: 'leased',
  retrying: 'due',
  settled: 'settled',
  dead: 'dead',
}

const MOST_SENT = 20
const NOTHING_SENT: SentToAnswer = { items: [] }
/** An event's identity, as receivers make it. */
const IDENTITY = /^[0-9a-f]{32}$/

interface Found {
  readonly inside: Inside
  readonly finding: Finding
}

/** GET api/events. */
export async function listEvents(
  query: URLSearchParams,
  rights: Rights,
  { inside, finding }: Found,
  { after, limit }: { readonly after: string | undefined; readonly limit: number } = {
    after: textIn(query, 'after'),
    limit: limitIn(query),
  },
): Promise<EventList> {
  const about = textIn(query, 'q')
  const types = wordsIn(query, 'type', EVENT_TYPES)
  const outcome = wordIn(query, 'outcome', OUTCOMES)
  const project = textIn(query, 'project')
  const filter: EventFilter = {
    types: types && [...new Set(types.map(recordType))],
    project,
    channel: textIn(query, 'channel'),
    carrier: wordIn(query, 'carrier', CARRIERS),
    states: outcome && [STATES[outcome]],
    fromMs: timeIn(query, 'from'),
    toMs: timeIn(query, 'to'),
  }

  /** An exact id is found by an index, and is shown whatever the filters say. */
  async function named(wanted: string): Promise<Partial<OfMessage>> {
    const byId = IDENTITY.test(wanted) ? await finding.event(wanted) : undefined
    if (byId !== undefined) return { events: [byId] }
    return (await finding.ofMessage(wanted, project)) ?? {}
  }

  const isSearch = about !== undefined && after === undefined
  const { events: found = [], sent, messageKey: key }: Partial<OfMessage> = isSearch ? await named(about) : {}
  const forms = about === undefined ? undefined : formsOf(about)
  const [answer, sentTo]: [EventsAnswer, SentToAnswer] = await Promise.all([
    found.length > 0 ? { items: found } : finding.page({ ...filter, about: forms, after, limit }),
    found.length > 0 || sent !== undefined || !isSearch || forms === undefined
      ? NOTHING_SENT
      : finding.sentTo({ to: forms, after: undefined, limit: MOST_SENT, fromMs: filter.fromMs, toMs: filter.toMs }),
  ])
  const sentRows = sentTo.items
    .filter(({ expectation }) => project === undefined || expectation.project === project)
    .filter(({ expectation }) => filter.channel === undefined || expectation.channel === filter.channel)
    .map((stored) => sentRow(stored, rights))
  return {
    items: answer.items
      .filter((stored) => found.length > 0 || outcome === undefined || outcomeOf(stored) === outcome)
      .map((stored) => rowOf(stored, inside, rights))
      // Which subscription it is, only its payload tells.
      .filter(
        ({ type }) => type?.startsWith('subscription.') !== true || types?.some((each) => each === type) !== false,
      ),
    next: answer.next,
    lookedBackTo: iso(answer.lookedBackToMs),
    message:
      key === undefined || about === undefined
        ? undefined
        : { messageId: about, project: sent?.expectation.project ?? projectOf(found) ?? project },
    sent: sentRows.length > 0 ? sentRows : undefined,
    sentBefore: sentTo.next === undefined ? undefined : sentBeforeOf(sentTo),
  }
}

function projectOf(events: readonly StoredEvent[]): string | undefined {
  return events.find(({ record }) => record !== undefined)?.record?.project
}

/** What was sent in the same millisecond may have been passed over, and may come again. */
function sentBeforeOf({ items, lookedBackToMs }: SentToAnswer): string | undefined {
  const last = items.at(-1)
  return iso((lookedBackToMs ?? (last === undefined ? 0 : listedAt(last.expectation))) + 1)
}

const MOST_EXPORTED = 5_000
const PAGE_EXPORTED = 200
const COLUMNS = [
  'receivedAt',
  'type',
  'outcome',
  'project',
  'messageId',
  'about',
  'recipient',
  'status',
  'statusCode',
  'channel',
  'carrier',
  'network',
  'late',
  'attempts',
  'error',
  'occurredAt',
  'admittedAt',
  'dueAt',
  'endedAt',
  'kind',
  'proof',
  'id',
] as const satisfies readonly (keyof EventRow)[]

/** Of GET api/events.csv and api/events.json, with the filters of the list: the newest that match. */
export async function exportedEvents(
  query: URLSearchParams,
  rights: Rights,
  found: Found,
): Promise<readonly EventRow[]> {
  const rows: EventRow[] = []
  let after: string | undefined
  do {
    const page = await listEvents(query, rights, found, { after, limit: PAGE_EXPORTED })
    rows.push(...page.items)
    after = page.next
  } while (after !== undefined && rows.length < MOST_EXPORTED)
  return rows.slice(0, MOST_EXPORTED)
}

export function asCsv(rows: readonly EventRow[]): string {
  const lines = rows.map((row) => COLUMNS.map((name) => csvCell(row[name])).join(','))
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`
}

/** A spreadsheet takes a text that begins so for a formula; a number with a plus is none. */
function csvCell(value: string | number | boolean | undefined): string {
  const text = String(value ?? '').replace(/^(?=[=\-@\t\r]|\+(?!\d+$))/, "'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
