/** Lists of events, newest first, one line each: by filters or search, and dead letters by error. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { DeadLetterList, EventList, EventRow, Sent, Session } from '../routes.ts'
import { go, href, idsOf, now, queryOf, useList, valueOf, type List, type Query } from './data.ts'
import { decisions, decisionsOf, type Targets, type View } from './deciding.ts'
import { h, type Child, type Column } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

const EVENTS = ['type', 'outcome', 'project', 'channel', 'carrier']
const LETTERS = ['type', 'project']
const TIMES = ['from', 'to']

export function EventsView(view: View): VNode | VNode[] {
  const list = useList<EventList>('events', [...EVENTS, ...TIMES, 'q'], view.route, view.changes)
  const { query, asked } = list
  const { message } = asked.value ?? {}
  useEffect(() => {
    // A message id leads to its timeline. Back leads to the view before the search.
    if (message !== undefined && message.messageId === query['q'])
      location.replace(labels.hrefOfMessage(message.messageId, message.project))
  }, [message?.messageId])
  return h`${ui.heading('Events')}${filters(list, EVENTS, view.session)}
    ${ui.loaded(asked, ({ items, next, lookedBackTo, sent, sentBefore, refused }) => [
      refused &&
        ui.problems('Refused', [
          {
            key: 'refused',
            tone: 'warn',
            text: h`<strong>${labels.refusedText(refused)}</strong> since ${ui.time(refused.since, true)}`,
            remedy: labels.refusedLink(query['q'] ?? ''),
          },
        ]),
      sent && [h`<h2>Sent to this recipient</h2>`, sends(sent)],
      sentBefore !== undefined &&
        h`<p class="quiet">Sends were searched back to ${ui.time(sentBefore)}: <a href=${href(['events'], { ...query, to: sentBefore })}>search further back</a>.</p>`,
      sent && items.length > 0 && h`<h2>Reports that name this recipient</h2>`,
      items.length > 0
        ? h`<${EventTable} view=${view} items=${items} />`
        : sent === undefined && nothing(next !== undefined, list, view),
      lookedBackTo !== undefined && h`<p class="quiet">Searched back to ${ui.time(lookedBackTo, true)}.</p>`,
      ui.pages(
        list,
        next,
        ['Newest', lookedBackTo === undefined ? 'Older' : 'Search further back'],
        items.length > 0 && [ui.quiet(ui.several(items.length, 'event')), exportLinks(query)],
      ),
    ])}`
}

function exportLinks(query: Query): Child {
  const link = (kind: string): Child =>
    h`<a href=${`api/events.${kind}${queryOf(query)}`} download>${kind.toUpperCase()}</a>`
  return h`<span class="end">Export: ${link('csv')} ${link('json')}</span>`
}

function nothing(hasMore: boolean, { query, isFiltered }: List<unknown>, { session }: View): Child {
  if (hasMore) return ui.empty('None found so far.')
  if (query['q'] !== undefined)
    return ui.empty(
      `No event or message found for “${query['q']}”.`,
      'Enter the whole id, or the whole number with its country code.',
      session.storeAlone && ui.prose('The quarantine is not searched here: run `messaging-webhooks quarantine list`.'),
    )
  if (isFiltered) return ui.empty('No event matches.', h`Remove a filter, or <a href="#/events">show all events</a>.`)
  return ui.empty('No events yet.', 'They appear as soon as callbacks arrive.')
}

function sends(sent: readonly Sent[]): Child {
  return ui.table({
    caption: 'Sent to this recipient, newest first',
    rows: sent,
    keyOf: ({ messageId, sentAt }) => messageId ?? sentAt,
    columns: [
      ['Sent', 'when', ({ sentAt }) => ui.time(sentAt, true)],
      ['Message', 'message', labels.messageLink],
      ['Channel', 'via', ({ channel }) => channel],
      ['Newest report', 'what', ({ lastReport }) => lastReport && labels.typeName(lastReport)],
      ['State', 'outcome', ({ state, refused }) => [labels.dot(labels.SENT[state]), ' ', ui.quiet(refused)]],
    ],
  })
}

export function DeadLettersView(view: View): VNode | VNode[] {
  const list = useList<DeadLetterList>('dead-letters', [...LETTERS, ...TIMES, 'error'], view.route, view.changes)
  const { query, isFiltered, after, asked } = list
  return h`${ui.heading('Dead letters')}${ui.loaded(
    asked,
    ({ items, groups, refused, matching, total, isCut, next }) => [
      refused.length > 0 && refusedByStore(refused),
      causes(groups, view, query),
      filters(list, LETTERS, view.session),
      items.length > 0
        ? h`<${EventTable} view=${view} items=${items} all=${lettersOf(query, matching)} />`
        : ui.empty(
            isFiltered || after !== undefined ? 'No dead letter matches.' : 'No dead letters.',
            'An event whose handlers fail in every attempt stays here until you replay or discard it.',
          ),
      ui.pages(
        list,
        next,
        ['Newest', 'Older'],
        ui.quiet(`${ui.count(matching)} of ${ui.several(total, 'dead letter')}`, isCut && '; more come after these'),
      ),
    ],
  )}`
}

function refusedByStore(items: readonly EventRow[]): Child {
  return h`<h2>Refused by the store</h2>
    <p class="quiet">They wait in the spool, and each start tries them again. Please report the error to this package.</p>
    ${ui.table({
      caption: 'Events that the store refuses, oldest first',
      rows: items,
      keyOf: ({ id }) => id,
      columns: [
        ['Received', 'when', ({ receivedAt }) => ui.time(receivedAt, true)],
        ['Event', 'what', ({ type }) => type && labels.typeName(type)],
        ['Project', 'project', ({ project }) => project],
        ['Message', 'message', ({ messageId }) => ui.code(messageId)],
        ['Error', 'outcome', ({ error }) => h`<small class="error" title=${error}>${error?.split('\n', 1)[0]}</small>`],
      ],
    })}`
}

function lettersOf(query: Query, count: number): Targets {
  return { name: ui.several(count, 'dead letter'), count, ids: () => idsOf(query) }
}

function causes(groups: DeadLetterList['groups'], view: View, query: Query): Child {
  const { error } = query
  return ui.problems(
    'By error',
    groups
      .filter(({ id }) => error === undefined || id === error)
      .map(({ id, cause, count, since, last }) => ({
        key: id,
        tone: 'bad',
        text: h`<p class="line" title=${cause}><b>${ui.count(count)}×</b> ${cause}</p>
          <small>since ${ui.time(since)}, last ${ui.time(last, true)}</small>`,
        remedy: [
          error === undefined && ui.linkButton('Show', ['dead-letters'], { ...query, error: id }),
          decisions(view, lettersOf({ ...query, error: id }, count), `all: ${cause}`, ' all'),
        ],
      })),
    error !== undefined && ui.linkButton('Show all errors', ['dead-letters'], { ...query, error: undefined }),
    h`<p class="quiet">Fix the error; the log has the stack. Then replay.</p>`,
  )
}

interface EventTableProps {
  readonly view: View
  readonly items: readonly EventRow[]
  /** All matching dead letters, on this page or others. */
  readonly all?: Targets
}

/** One line per event. Dead letters can be selected. */
function EventTable({ view, items, all }: EventTableProps): VNode | VNode[] {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const dead = items.filter(({ outcome }) => outcome === 'dead').map(({ id }) => id)
  const isDecided = view.session.may.write && dead.length > 0
  const here = dead.filter((id) => chosen.has(id))
  const selected = { ...lettersOf({}, here.length), ids: () => Promise.resolve(here) }
  const isAll = all !== undefined && all.count > dead.length && here.length === dead.length

  function box(label: string, ids: readonly string[]): Child {
    const isChecked = ids.every((id) => chosen.has(id))
    const choose = (): void =>
      setChosen(isChecked ? new Set([...chosen].filter((id) => !ids.includes(id))) : new Set([...chosen, ...ids]))
    return h`<input type="checkbox" aria-label=${label} checked=${isChecked} onChange=${choose} />`
  }

  const columns: readonly (Column<EventRow> | false)[] = [
    isDecided && [
      'Selection',
      'choose',
      (row) => row.outcome === 'dead' && box(`Select ${labels.nameOf(row)}`, [row.id]),
    ],
    ['Received', 'when', ({ receivedAt, admittedAt, endedAt }) => ui.time(receivedAt ?? admittedAt ?? endedAt, true)],
    ['Event', 'what', (row) => [labels.eventLink(row), labels.lateBadge(row), ' ', ui.quiet(labels.statusOf(row))]],
    ['Project', 'project', ({ project }) => project],
    ['Message', 'message', labels.messageLink],
    ['Recipient', 'recipient', ({ recipient }) => ui.code(recipient)],
    ['Channel', 'via', labels.channelOf],
    ['Latency', 'number', latency],
    ['Outcome', 'outcome', outcomeOf],
    isDecided && ['Actions', 'do', (row) => decisionsOf(view, row)],
  ]
  return h`${
    isDecided &&
    h`<div class="tools">
      <label>${box('All on this page', dead)} ${ui.several(here.length, 'selected', 'selected')}</label>
      ${decisions(view, selected, 'those selected')}
      ${isAll && h`<span>All ${ui.count(all.count)} that match:</span>${decisions(view, all, 'all that match', ' all')}`}
    </div>`
  }
  ${ui.table({ caption: 'Events, newest first', rows: items, keyOf: ({ id }) => id, isMarked: ({ id }) => chosen.has(id), columns })}`
}

/** Time from the arrival until the handlers had succeeded. */
function latency({ receivedAt, endedAt, outcome }: EventRow): Child {
  if (receivedAt === undefined || endedAt === undefined || outcome !== 'settled') return undefined
  return ui.duration(Math.max(0, Date.parse(endedAt) - Date.parse(receivedAt)))
}

function outcomeOf({ outcome, attempts = 0, dueAt, error }: EventRow): Child {
  const [head = ''] = error?.split('\n', 1) ?? []
  const next = outcome === 'retrying' && dueAt !== undefined && `, next ${ui.age(new Date(dueAt))}`
  return h`${labels.dot(labels.OUTCOMES[outcome])}
    ${next && h`<small> ${ui.several(attempts, 'attempt')}${next}</small>`}
    ${head !== '' && h`<small class="error" title=${head}> ${head}</small>`}`
}

type Choices = readonly (readonly [value: string, label: string])[]

const PERIODS = [['900', '15 min'], ['3600', '1 h'], ['86400', '24 h'], ['604800', '7 days']] as const // prettier-ignore

/** The choices of a filter by its name. A filter without choices is a text field. */
const CHOICES: Readonly<Record<string, (session: Session) => Choices>> = {
  type: ({ types }) => types.map(same),
  outcome: () => Object.entries(labels.OUTCOMES).map(([name, [label]]) => [name, label]),
  project: ({ projects }) => projects.map(same),
  carrier: ({ carriers }) => carriers.map(same),
}

const same = (name: string): readonly [string, string] => [name, name]

/** A phone shows the filters on request. */
const isWide = matchMedia('(min-width: 44rem)').matches

/** Each change updates the address at once. */
function filters({ name: list, query }: List<unknown>, names: readonly string[], session: Session): Child {
  const change =
    (read: (value: string) => Query) =>
    ({ currentTarget }: Event): void =>
      go([list], { ...query, ...read(valueOf(currentTarget)) })

  function control(name: string): Child {
    const chosen = query[name] ?? ''
    const choices = CHOICES[name]?.(session)
    const onChange = change((value) => ({ [name]: value }))
    if (choices === undefined || choices.length === 0)
      return h`<${ui.Field} id=${`filter-${name}`} size="10" value=${chosen} onChange=${onChange} />`
    const isKnown = chosen === '' || choices.some(([value]) => value === chosen)
    return select(name, 'any', isKnown ? choices : [...choices, same(chosen)], chosen, onChange)
  }

  const moment = (name: string): Child =>
    h`<${ui.Field} id=${`filter-${name}`} type="datetime-local" step="1" value=${toField(query[name] ?? '')}
      onChange=${change((value) => ({ [name]: fromField(value) }))} />`
  const ofLast = change((seconds) => ({
    from: new Date(now() - Number(seconds) * 1_000).toISOString(),
    to: undefined,
  }))
  const active = Object.keys(query).filter((name) => name !== 'q').length
  return h`<details class="filters" open=${isWide}>
    <summary>${active === 0 ? 'Filters' : `Filters (${active})`}</summary>
    <form aria-label="Filters" onSubmit=${(event: Event) => event.preventDefault()}>
      ${names.map((name) => field(name, name.charAt(0).toUpperCase() + name.slice(1), control(name)))}
      ${field('from', 'Start', moment('from'))}
      ${field('to', 'End', moment('to'))}
      ${field('period', 'Period', select('period', 'choose', PERIODS, '', ofLast))}
      ${Object.keys(query).length > 0 && h`<a class="button" href=${href([list])}>Clear</a>`}
    </form>
  </details>`
}

function field(name: string, label: string, control: Child): Child {
  return h`<div class="field" key=${name}><label for=${`filter-${name}`}>${label}</label>${control}</div>`
}

function select(name: string, none: string, choices: Choices, chosen: string, onChange: (event: Event) => void): Child {
  return h`<select id=${`filter-${name}`} value=${chosen} onChange=${onChange}>
    <option value="" selected=${chosen === ''}>${none}</option>
    ${choices.map(([value, text]) => h`<option value=${value} selected=${value === chosen}>${text}</option>`)}
  </select>`
}

/** The value of a `datetime-local` field: in the displayed zone, without its name. */
function toField(iso: string): string {
  const at = new Date(iso)
  return Number.isNaN(at.getTime()) ? '' : ui.inZone(at).slice(0, 19)
}

function fromField(text: string): string {
  const at = new Date(ui.zone.isUtc && text !== '' ? `${text}Z` : text)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}
