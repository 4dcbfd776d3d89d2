/** The small things that several views show: tables, badges, links, what became of an event. */
import type { EventRow, Outcome, SentDetail } from '../shapes.ts'
import { h, type Child, type Tree } from './elements.ts'
import { hrefOfEvent, hrefOfMessage } from './route.ts'
import { count, cut, time } from './words.ts'

interface Column<T> {
  readonly name: string
  readonly cell: (row: T) => Child
  readonly class?: string
}

interface TableOptions<T> {
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  /** A narrow page shows each row as a card; the first column tells what it is about. */
  readonly class?: string
  readonly isMarked?: (row: T) => boolean
}

/** Its roles are named, for a card is not laid out as a row, and some browsers take it for none then. */
export function table<T>({ caption, columns, rows, keyOf, isMarked, class: name = 'cards' }: TableOptions<T>): Tree {
  const classOf = (column: Column<T>): Record<string, string> =>
    column.class === undefined ? {} : { class: column.class }
  return h(
    'table',
    { class: name, role: 'table' },
    h('caption', { class: 'unseen' }, caption),
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        columns.map((column) => h('th', { scope: 'col', role: 'columnheader', ...classOf(column) }, column.name)),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      rows.map((row) =>
        h(
          'tr',
          { key: keyOf(row), role: 'row', ...(isMarked?.(row) === true ? { class: 'marked' } : {}) },
          columns.map((column) => h('td', { role: 'cell', ...classOf(column) }, column.cell(row))),
        ),
      ),
    ),
  )
}

/** Names with their counts, the greatest first, each with a bar. `linkOf` leads to what was counted. */
export function tally(
  caption: string,
  counts: Readonly<Record<string, number>>,
  linkOf?: (name: string) => string,
): Tree {
  const rows = Object.entries(counts).sort(([, a], [, b]) => b - a)
  const most = rows[0]?.[1] ?? 1
  return table({
    caption,
    class: 'tally',
    rows,
    keyOf: ([name]) => name,
    columns: [
      {
        name: 'Name',
        cell: ([name]) => {
          const label = CLASSES[name]?.[0] ?? name
          return linkOf === undefined ? label : h('a', { href: linkOf(name) }, label)
        },
      },
      { name: 'Count', class: 'number', cell: ([, number]) => count(number) },
      { name: 'Share', class: 'share', cell: ([, number]) => shareBar(number / most) },
    ],
  })
}

function shareBar(share: number): Tree {
  return h(
    'svg',
    { viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    h('rect', { width: Math.max(1, 100 * share).toFixed(1), height: 6 }),
  )
}

/** What is said beside what matters. */
export function quiet(...text: readonly Child[]): Tree {
  return h('span', { class: 'quiet' }, text)
}

/** What stands between backticks is a name in code. */
export function prose(text: string): Child {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part))
}

/** Its first line says most; its stack is for those who look closer. */
export function errorText(error: string, ...more: readonly Child[]): Tree {
  const [first = '', ...rest] = error.split('\n')
  if (rest.length === 0) return h('div', { class: 'error' }, first, more)
  return h('details', { class: 'error' }, h('summary', {}, first, more), h('pre', {}, cut(rest.join('\n'))))
}

/** What requests in quarantine look like. */
export const CLASSES: Readonly<Record<string, readonly [label: string, what: string]>> = {
  provedButStale: ['Proved, but stale', 'The digest is right and only the time is not: a wrong clock, or a replay.'],
  unverified: ['Unverified', 'Its credentials could not be looked up; it is verified again by itself.'],
  looksLikeOurs: ['Looks like yours', 'A callback with a proof that no live key made: a wrong secret, or a forgery.'],
  rest: ['The rest', 'Anything else: mostly not from the service.'],
}

export function badge(text: Child, tone = '', title?: string): Tree {
  return h('span', { class: `badge ${tone}`, title }, text)
}

const OUTCOMES: Readonly<Record<Outcome, readonly [label: string, tone: string, what: string]>> = {
  waiting: ['Waiting', 'calm', 'Kept, and not handed over yet.'],
  running: ['Running', 'busy', 'Its handlers run now.'],
  retrying: ['Retrying', 'warn', 'A handler failed; it will be tried again.'],
  settled: ['Settled', 'good', 'Every handler is done with it.'],
  dead: ['Dead letter', 'bad', 'Its handlers failed in every attempt.'],
}

export const OUTCOME_LABELS = Object.entries(OUTCOMES).map(([outcome, [label]]) => [outcome, label] as const)

export function outcomeBadge(outcome: Outcome): Tree {
  const [label, tone, what] = OUTCOMES[outcome]
  return badge(label, `dot ${tone}`, what)
}

/** What colours go by. */
export function toneOf(type = ''): string {
  return /(delivered|read|failed|overdue|unknown|late|unrecognized)$/.exec(type)?.[0] ?? ''
}

/** A store forgets what an event was before it forgets that it came. */
export const SENT: Readonly<Record<SentDetail['state'], readonly [label: string, tone: string, why: string]>> = {
  waiting: ['Awaited', 'calm', 'No end was reported yet, and there is time.'],
  overdue: ['Overdue', 'warn', 'No end was reported in time, nor since.'],
  ended: ['Ended', 'calm', 'Its end was reported.'],
  repeated: ['Sent again', 'calm', 'It failed for now and was sent again: nothing more is awaited of this one.'],
  refused: ['Refused', 'bad', 'The service refused it in the answer to the send: nothing will come of it.'],
  unknown: ['Unknown', 'warn', 'No answer to the send came: nobody knows whether it was sent.'],
}

export function sentBadge(state: SentDetail['state']): Tree {
  const [label, tone, why] = SENT[state]
  return badge(label, `dot ${tone}`, why)
}

export function typeName(type: string | undefined): Tree {
  return type === undefined ? quiet('no longer kept') : h('span', { class: `type ${toneOf(type)}` }, type)
}

/** An event of the type `late` says so itself. */
export function lateBadge({ late, type }: EventRow): Child {
  return late && type !== 'late' && badge('late', 'late', 'Older than what was handed over already')
}

/** Where there is no message, its recipient is what people know an event by. */
export function messageLink({ messageId, project }: Pick<EventRow, 'messageId' | 'project'>): Child {
  return messageId === undefined
    ? undefined
    : h('a', { class: 'id', href: hrefOfMessage(messageId, project) }, messageId)
}

export function eventLink(event: EventRow, text: Child): Tree {
  return h('a', { href: hrefOfEvent(event), 'data-item': true }, text)
}

/** The sender's word and code. */
export function statusOf({ status, statusCode }: EventRow): string | undefined {
  if (statusCode === undefined) return status
  return status === undefined || status === String(statusCode) ? String(statusCode) : `${status} (${statusCode})`
}

export function via({ channel, carrier, network }: EventRow): string {
  return [channel, carrier ?? network].filter((part) => part !== undefined).join(' · ')
}

/** Names and values, without those that are not known. */
export function facts(rows: readonly (readonly [name: string, value: Child])[]): Tree {
  return h(
    'dl',
    { class: 'facts' },
    rows.flatMap(([name, value]) =>
      value === undefined || value === '' || value === false
        ? []
        : [h('div', { key: name }, h('dt', {}, name), h('dd', {}, value))],
    ),
  )
}

export function timeOf(iso: string | undefined): Child {
  return iso === undefined ? undefined : time(iso)
}
