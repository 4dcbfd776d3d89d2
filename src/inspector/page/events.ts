/** Events, newest first: filters, search, and a page at a time. All that is chosen stands in the address. */
import type { Change, EventList, EventRow, SentRow } from '../shapes.ts'
import { askEvents } from './asking.ts'
import { h, type Child, type Tree } from './elements.ts'
import { filters, isFiltered, queryOfFilters } from './filters.ts'
import {
  eventLink,
  lateBadge,
  messageLink,
  outcomeBadge,
  quiet,
  sentBadge,
  statusOf,
  table,
  typeName,
  via,
} from './parts.ts'
import { href, hrefOfMessage } from './route.ts'
import { asking, empty, heading, type Screen, type Surroundings } from './screen.ts'
import { several, time } from './words.ts'

/** A filter that finds little makes the store look far. */
const STALE_AFTER_MS = 3_000
const FILTERED_STALE_AFTER_MS = 10_000

export function eventsScreen(around: Surroundings): Screen {
  const { session, route, show } = around
  const query = queryOfFilters(route.query)
  const asked = asking(() => askEvents({ ...query, after: route.query.get('after') ?? undefined }), show)
  const isFirstPage = !route.query.has('after')
  const q = query['q']

  return {
    title: q === undefined ? 'Events' : `Events of ${q}`,
    refresh: asked.refresh,
    staleAfterMs({ events, many }: Change) {
      const shown = new Set(asked.value()?.items.map(({ id }) => id))
      if (!isFirstPage && !many && !events.some((id) => shown.has(id))) return undefined
      return isFiltered(query) ? FILTERED_STALE_AFTER_MS : STALE_AFTER_MS
    },
    content() {
      return [
        heading('Events'),
        session.store.listsEvents
          ? filters(around, query)
          : h(
              'p',
              { class: 'note warn' },
              `The store (${session.store.name}) cannot list events; search for an event id still finds it.`,
            ),
        asked.answered((list) => found(list, around)),
      ]
    },
  }

  function found(list: EventList, { session: { may } }: Surroundings): Child {
    const { items, next, lookedBackTo } = list
    const looked =
      lookedBackTo === undefined
        ? undefined
        : h('p', { class: 'quiet' }, 'Looked back to ', time(lookedBackTo), ', and no further yet.')
    return [
      list.sent === undefined && oneMessage(list),
      sentTo(list),
      items.length === 0
        ? list.message === undefined && list.sent === undefined && nothing(next !== undefined)
        : table({
            caption: 'Events, newest first',
            rows: items,
            keyOf: ({ id }) => id,
            columns: COLUMNS,
            class: 'cards events',
          }),
      looked,
      h(
        'nav',
        { class: 'pages', 'aria-label': 'Pages' },
        !isFirstPage && h('a', { class: 'button', href: href(['events'], query) }, '« Newest'),
        next !== undefined &&
          h(
            'a',
            { class: 'button', href: href(['events'], { ...query, after: next }) },
            lookedBackTo === undefined ? 'Older »' : 'Look further back »',
          ),
        items.length > 0 && quiet(several(items.length, 'event'), may.reveal ? '' : '; numbers are masked for you'),
      ),
    ]
  }

  /** Reports of an SMS do not say whom it was for: what was told of its send does. */
  function sentTo({ items, sent, sentBefore }: EventList): Child {
    return [
      sent && [
        h('h2', {}, 'Sent to them'),
        table({
          caption: 'What was sent to them, newest first',
          rows: sent,
          keyOf: ({ messageId, sentAt }) => messageId ?? sentAt,
          columns: SENT_COLUMNS,
        }),
      ],
      sentBefore !== undefined &&
        h(
          'p',
          { class: 'quiet' },
          'Sends were looked back to ',
          time(sentBefore),
          ': ',
          h('a', { href: href(['events'], { ...query, to: sentBefore }) }, 'look further back'),
          '.',
        ),
      sent && items.length > 0 && h('h2', {}, 'Reports that name them'),
    ]
  }

  function nothing(hasMore: boolean): Tree {
    if (hasMore) return empty('None found as far as was looked.')
    if (q !== undefined)
      return empty(
        `Nothing is known of “${q}”.`,
        'Write the whole message id, recipient or event id; a number begins with its country code.',
        ['It may have been refused: look into ', h('a', { href: href(['quarantine']) }, 'quarantine'), '.'],
      )
    if (isFiltered(query))
      return empty('No event is like that.', [
        'Take a filter off, or ',
        h('a', { href: href(['events']) }, 'show all events'),
        '.',
      ])
    return empty('No events yet.', 'They stand here as soon as the service’s callbacks come.')
  }
}

/** Who searches for a recipient mostly wants the story of a message. */
function oneMessage({ items, message }: EventList): Child {
  const { messageId, project } = message ?? items[0] ?? {}
  if (messageId === undefined) return undefined
  const isOfOne = items.length > 1 && items.every((row) => row.messageId === messageId && row.project === project)
  if (message === undefined && !isOfOne) return undefined
  return h(
    'p',
    { class: 'note' },
    items.length === 0 ? 'It was sent, and no report of it has come yet: ' : 'All of one message: ',
    h('a', { href: hrefOfMessage(messageId, project) }, 'show its timeline'),
    '.',
  )
}

const SENT_COLUMNS = [
  { name: 'Sent', class: 'when', cell: ({ sentAt }: SentRow) => time(sentAt) },
  { name: 'Message', class: 'message', cell: messageLink },
  { name: 'By', class: 'via', cell: ({ channel }: SentRow) => channel },
  { name: 'Newest report', class: 'what', cell: ({ lastReport }: SentRow) => lastReport && typeName(lastReport) },
  { name: 'State', class: 'outcome', cell: ({ state, refused }: SentRow) => [sentBadge(state), ' ', quiet(refused)] },
]

const COLUMNS = [
  { name: 'Came', class: 'when', cell: (row: EventRow) => time(row.receivedAt ?? row.admittedAt ?? row.endedAt) },
  {
    name: 'Event',
    class: 'what',
    cell: (row: EventRow) => [eventLink(row, typeName(row.type)), lateBadge(row)],
  },
  { name: 'Status', class: 'status', cell: (row: EventRow) => statusOf(row) },
  { name: 'Message', class: 'message', cell: messageLink },
  {
    name: 'Recipient',
    class: 'recipient',
    cell: ({ recipient }: EventRow) => recipient !== undefined && h('span', { class: 'id' }, recipient),
  },
  { name: 'By', class: 'via', cell: via },
  {
    name: 'Outcome',
    class: 'outcome',
    cell: ({ outcome, attempts, error }: EventRow) => [
      outcomeBadge(outcome),
      (attempts ?? 0) > 1 && h('small', {}, ` ${several(attempts ?? 0, 'attempt')}`),
      error !== undefined && h('small', { class: 'error' }, error),
    ],
  },
]
