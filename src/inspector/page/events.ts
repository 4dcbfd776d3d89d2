/** What came, the newest first, one line each: by filters, or by what is searched for. */
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import type { EventList, EventRow, SentRow } from '../shapes.ts'
import { go, href, now, pick, queryOf, useAsked, valueOf, type Query } from './data.ts'
import { decisionsOf } from './deciding.ts'
import { h, type Child, type Column, type View } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

const STALE_MS = 2_000
const PATH = ['events']

export function EventsView(view: View): VNode | VNode[] {
  const { query: given } = view.route
  const query = pick(given, ['type', 'project', 'channel', 'carrier', 'outcome', 'from', 'to', 'q'])
  const path = `api/events${queryOf({ ...query, after: given['after'] })}`
  const asked = useAsked<EventList>(path, () => (given['after'] === undefined ? STALE_MS : undefined))
  const { message } = asked.value ?? {}
  useEffect(() => {
    // A message id leads to its timeline; back leads to what was before the search.
    if (message !== undefined && message.messageId === query['q'])
      location.replace(labels.hrefOfMessage(message.messageId, message.project))
  }, [message?.messageId])
  return h`${ui.heading('Events')}${filters(view, PATH, query)}${ui.answered(asked, (list) => found(list, view, query))}`
}

function found(list: EventList, view: View, query: Query): Child {
  const { items, next, lookedBackTo, sent, sentBefore } = list
  return [
    sent && [
      h`<h2>Sent to this recipient</h2>`,
      ui.table({
        caption: 'Sent to this recipient, newest first',
        rows: sent,
        keyOf: ({ messageId, sentAt }) => messageId ?? sentAt,
        class: 'cards rows',
        columns: SENT_COLUMNS,
      }),
    ],
    sentBefore !== undefined &&
      h`<p class="quiet">Sends were searched back to ${ui.time(sentBefore)}: <a href=${href(['events'], { ...query, to: sentBefore })}>search further back</a>.</p>`,
    sent && items.length > 0 && h`<h2>Reports that name this recipient</h2>`,
    items.length > 0 ? eventTable(items, view) : sent === undefined && nothing(next !== undefined, query),
    lookedBackTo !== undefined && h`<p class="quiet">Searched back to ${ui.time(lookedBackTo, true)}.</p>`,
    ui.pages(
      PATH,
      query,
      { after: view.route.query['after'], next },
      ['Newest', lookedBackTo === undefined ? 'Older' : 'Search further back'],
      items.length > 0 && [ui.quiet(ui.several(items.length, 'event')), exportLinks(query)],
    ),
  ]
}

function exportLinks(query: Query): Child {
  return h`<span class="end">Export: <a href=${`api/events.csv${queryOf(query)}`} download>CSV</a> <a href=${`api/events.json${queryOf(query)}`} download>JSON</a></span>`
}

function nothing(hasMore: boolean, query: Query): Child {
  if (hasMore) return ui.empty('None found so far.')
  if (query['q'] !== undefined)
    return ui.empty(
      `Nothing is known of “${query['q']}”.`,
      'Enter it as a whole; a number begins with its country code.',
      h`It may have been refused: look into <a href="#/quarantine">quarantine</a>.`,
    )
  if (Object.keys(query).length > 0)
    return ui.empty('No event matches.', h`Remove a filter, or <a href="#/events">show all events</a>.`)
  return ui.empty('No events yet.', 'They appear as soon as callbacks of the service arrive.')
}

const SENT_COLUMNS: readonly Column<SentRow>[] = [
  ['Sent', 'when', ({ sentAt }: SentRow) => ui.time(sentAt, true)],
  ['Message', 'message', labels.messageLink],
  ['Channel', 'via', ({ channel }: SentRow) => channel],
  ['Newest report', 'what', ({ lastReport }: SentRow) => lastReport && labels.typeName(lastReport)],
  ['State', 'outcome', ({ state, refused }: SentRow) => [labels.sentBadge(state), ' ', ui.quiet(refused)]],
]

function eventTable(items: readonly EventRow[], view: View): Child {
  const isNamed = items.some(({ project }) => project !== undefined)
  const isDecided = view.session.may.write && items.some(({ outcome }) => outcome === 'dead')
  return ui.table<EventRow>({
    caption: 'Events, newest first',
    rows: items,
    keyOf: ({ id }) => id,
    class: 'cards rows',
    columns: [
      ['Received', 'when', ({ receivedAt, admittedAt, endedAt }) => ui.time(receivedAt ?? admittedAt ?? endedAt, true)],
      [
        'Event',
        'what',
        (row) => [
          labels.eventLink(row, labels.typeName(row.type)),
          labels.lateBadge(row),
          ' ',
          ui.quiet(labels.statusOf(row)),
        ],
      ],
      isNamed && ['Project', 'project', ({ project }) => project],
      ['Message', 'message', labels.messageLink],
      ['Recipient', 'recipient', ({ recipient }) => ui.code(recipient)],
      ['Via', 'via', labels.via],
      ['Latency', 'number', latency],
      ['Outcome', 'outcome', outcomeOf],
      isDecided && ['Actions', 'do', (row) => decisionsOf(view, row)],
    ],
  })
}

/** From its arrival until its handlers were done. */
function latency({ receivedAt, endedAt, outcome }: EventRow): Child {
  if (receivedAt === undefined || endedAt === undefined || outcome !== 'settled') return undefined
  return ui.duration(Math.max(0, Date.parse(endedAt) - Date.parse(receivedAt)))
}

function outcomeOf({ outcome, attempts = 0, dueAt, error }: EventRow): Child {
  const [head = ''] = error?.split('\n', 1) ?? []
  const next = outcome === 'retrying' && dueAt !== undefined ? `, next ${ui.age(new Date(dueAt))}` : ''
  return h`${labels.outcomeBadge(outcome)}
    ${next !== '' && h`<small> ${ui.several(attempts, 'attempt')}${next}</small>`}
    ${head !== '' && h`<small class="error" title=${head}> ${head}</small>`}`
}

const PRESETS = [['900', '15 min'], ['3600', '1 h'], ['86400', '24 h'], ['604800', '7 days']] as const // prettier-ignore

/** A phone has no room for them until they are asked for. */
const isWide = matchMedia('(min-width: 44rem)').matches

/** Each change goes into the address at once. */
export function filters({ session }: View, path: readonly string[], query: Query): Child {
  const set = (changed: Query): void => go(path, { ...query, ...changed })
  const choose = (
    name: string,
    label: string,
    choices: readonly (readonly [value: string, label: string])[],
  ): Child => {
    const chosen = query[name] ?? ''
    const isKnown = chosen === '' || choices.some(([value]) => value === chosen)
    const all = isKnown ? choices : [...choices, [chosen, chosen] as const]
    return select(name, label, 'any', all, chosen, (value) => set({ [name]: value }))
  }
  const at = (name: 'from' | 'to', label: string): Child =>
    field(
      name,
      label,
      h`<${ui.Field} id=${`filter-${name}`} type="datetime-local" step="1" value=${toField(query[name])}
        onChange=${({ currentTarget }: Event) => set({ [name]: fromField(valueOf(currentTarget)) })} />`,
    )
  const isList = path === PATH
  const names = (words: readonly string[]): readonly (readonly [string, string])[] => words.map((word) => [word, word])
  const active = Object.keys(query).filter((name) => name !== 'q').length
  return h`<details class="filters" open=${isWide}>
    <summary>${active === 0 ? 'Filters' : `Filters (${active})`}</summary>
    <form aria-label="Filters" onSubmit=${(event: Event) => event.preventDefault()}>
      ${choose('type', 'Type', names(session.types))}
      ${
        isList &&
        choose(
          'outcome',
          'Outcome',
          Object.entries(labels.OUTCOMES).map(([name, [label]]) => [name, label]),
        )
      }
      ${session.projects.length > 1 || query['project'] ? choose('project', 'Project', names(session.projects)) : undefined}
      ${
        isList &&
        field(
          'channel',
          'Channel',
          h`<${ui.Field} id="filter-channel" size="10" value=${query['channel'] ?? ''}
            onChange=${({ currentTarget }: Event) => set({ channel: valueOf(currentTarget).trim() })} />`,
        )
      }
      ${isList && choose('carrier', 'Carrier', names(session.carriers))}
      ${select('last', 'The last', 'choose', PRESETS, '', (seconds) =>
        set({ from: new Date(now() - Number(seconds) * 1_000).toISOString(), to: undefined }),
      )}
      ${at('from', 'From')}${at('to', 'To')}
      ${Object.keys(query).length > 0 && h`<a class="button" href=${href(path)}>Clear</a>`}
    </form>
  </details>`
}

function field(name: string, label: string, control: Child): Child {
  return h`<div class="field" key=${name}><label for=${`filter-${name}`}>${label}</label>${control}</div>`
}

function select(
  name: string,
  label: string,
  none: string,
  choices: readonly (readonly [value: string, label: string])[],
  chosen: string,
  onChoice: (value: string) => void,
): Child {
  return field(
    name,
    label,
    h`<select id=${`filter-${name}`} value=${chosen} onChange=${({ currentTarget }: Event) => onChoice(valueOf(currentTarget))}>
      <option value="" selected=${chosen === ''}>${none}</option>
      ${choices.map(([value, text]) => h`<option value=${value} selected=${value === chosen}>${text}</option>`)}
    </select>`,
  )
}

/** As such a field has it: in the zone that is shown, without naming it. */
function toField(iso: string | undefined): string {
  const at = new Date(iso ?? Number.NaN)
  return Number.isNaN(at.getTime()) ? '' : ui.inZone(at).slice(0, 19)
}

function fromField(text: string): string {
  const at = new Date(ui.zone.isUtc && text !== '' ? `${text}Z` : text)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}
