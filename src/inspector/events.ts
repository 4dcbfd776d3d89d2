/** Lists of events, by filters and by what is searched for. */
import { recordType } from '../dispatch/listed-events.ts'
import { CARRIERS, EVENT_TYPES } from '../events.ts'
import { listedAt } from '../inbox/expected.ts'
import type { EventFilter, EventsAnswer, EventState, SentToAnswer } from '../inbox/store.ts'
import { formsOf } from '../recipient-forms.ts'
import type { Finding, OfMessage } from './finding.ts'
import type { Inside } from './inside.ts'
import { limitIn, textIn, timeIn, wordIn, wordsIn } from './queries.ts'
import type { Rights } from './rights.ts'
import { outcomeOf, rowOf } from './rows.ts'
import { sentRow } from './sent.ts'
import type { EventList, Outcome } from './shapes.ts'

const OUTCOMES = ['waiting', 'running', 'retrying', 'settled', 'dead'] as const satisfies readonly Outcome[]
const STATES: Readonly<Record<Outcome, EventState>> = {
  waiting: 'due',
  running: 'leased',
  retrying: 'due',
  settled: 'settled',
  dead: 'dead',
}

const A_PAGE = 50
const MOST_A_PAGE = 200
const MOST_SENT = 20
const NOTHING_SENT: SentToAnswer = { items: [] }
/** An event's identity, as receivers make it. */
const IDENTITY = /^[0-9a-f]{32}$/

/** GET api/events. */
export async function listEvents(
  query: URLSearchParams,
  rights: Rights,
  { inside, finding }: { readonly inside: Inside; readonly finding: Finding },
): Promise<EventList> {
  const limit = limitIn(query, A_PAGE, MOST_A_PAGE)
  const after = textIn(query, 'after')
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

  /** What is named exactly is found by an index, and is shown whatever the filters say. */
  async function named(wanted: string): Promise<Partial<OfMessage>> {
    const byId = IDENTITY.test(wanted) ? await finding.event(wanted) : undefined
    if (byId !== undefined) return { events: [byId] }
    return (await finding.ofMessage(wanted, project)) ?? {}
  }

  const isSearch = about !== undefined && after === undefined
  const { events: found = [], sent }: Partial<OfMessage> = isSearch ? await named(about) : {}
  const forms = about === undefined ? undefined : formsOf(about)
  const [answer, sentTo]: [EventsAnswer, SentToAnswer] = await Promise.all([
    found.length > 0 ? { items: found } : finding.page({ ...filter, about: forms, after, limit }),
    found.length > 0 || sent !== undefined || !isSearch || forms === undefined
      ? NOTHING_SENT
      : finding.sentTo({ to: forms, after: undefined, limit: MOST_SENT, fromMs: filter.fromMs, toMs: filter.toMs }),
  ])
  const sentIn =
    sent?.expectation.project ?? found.find(({ record }) => record !== undefined)?.record?.project ?? project
  const { items, next, lookedBackToMs } = answer
  const sentRows = sentTo.items
    .filter(({ expectation }) => project === undefined || expectation.project === project)
    .filter(({ expectation }) => filter.channel === undefined || expectation.channel === filter.channel)
    .map((stored) => sentRow(stored, rights))
  return {
    items: items
      .filter((stored) => found.length > 0 || outcome === undefined || outcomeOf(stored) === outcome)
      .map((stored) => rowOf(stored, inside, rights))
      // Which subscription it is, only its payload tells.
      .filter(
        ({ type }) => type?.startsWith('subscription.') !== true || types?.some((each) => each === type) !== false,
      ),
    ...(next !== undefined && { next }),
    ...(lookedBackToMs !== undefined && { lookedBackTo: new Date(lookedBackToMs).toISOString() }),
    ...(sent !== undefined &&
      about !== undefined && { message: { messageId: about, ...(sentIn !== undefined && { project: sentIn }) } }),
    ...(sentRows.length > 0 && { sent: sentRows }),
    ...(sentTo.next !== undefined && { sentBefore: sentBeforeOf(sentTo) }),
  }
}

/** What was sent in the same millisecond may have been passed over, and may come again. */
function sentBeforeOf({ items, lookedBackToMs }: SentToAnswer): string {
  const last = items.at(-1)
  const backToMs = lookedBackToMs ?? (last === undefined ? 0 : listedAt(last.expectation))
  return new Date(backToMs + 1).toISOString()
}
