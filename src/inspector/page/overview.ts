/** How the receiver is: what came, what waits, what went wrong. */
import type { Overview, Session } from '../shapes.ts'
import { askOverview } from './asking.ts'
import { h, type Child, type Tree } from './elements.ts'
import { facts, prose, table, tally } from './parts.ts'
import { plot } from './plot.ts'
import { href } from './route.ts'
import { aloneNote, asking, empty, heading, panel, type Screen, type Surroundings } from './screen.ts'
import { bytes, count, duration, several, time } from './words.ts'

/** Its counts come with each change; all of it costs the server more. */
const STALE_AFTER_MS = 5_000

/** `hear` is told of each overview, for what stands around the view. */
export function overviewScreen({ show, session }: Surroundings, hear: (overview: Overview) => void): Screen {
  const asked = asking(async () => {
    const overview = await askOverview()
    hear(overview)
    return overview
  }, show)
  return {
    title: 'Overview',
    refresh: asked.refresh,
    staleAfterMs: () => STALE_AFTER_MS,
    content() {
      return [heading('Overview'), asked.answered((overview) => whole(overview, session))]
    },
  }
}

function whole(overview: Overview, { store, storeAlone = false }: Session): Child {
  const { counts, backlog, deadLetters, overdue, quarantine, since } = overview
  const quarantined = Object.values(quarantine).reduce((all, one) => all + one, 0)
  const now = [
    tile('Unsettled', countOrNot(backlog.unsettled), { note: ageOf(backlog) }),
    tile('Dead letters', countOrNot(deadLetters), {
      link: href(['dead-letters']),
      tone: (deadLetters ?? 0) > 0 ? 'bad' : '',
    }),
  ]
  const where = [
    panel('Where events are kept', kept(overview, store.durable)),
    overview.holders.length > 0 && panel('Processes that have the store open', holders(overview)),
  ]
  if (storeAlone) return [aloneNote(), h('ul', { class: 'tiles' }, now), where]
  return [
    health(overview),
    h(
      'ul',
      { class: 'tiles' },
      tile('Taken', count(counts.taken), { link: href(['events']) }),
      tile('Duplicates', count(counts.duplicates)),
      tile('Late', count(counts.late), { link: href(['events'], { type: 'late' }) }),
      tile('Refused', count(counts.refused), { tone: counts.refused > 0 ? 'warn' : '' }),
      now,
      overdue > 0 &&
        tile('Overdue', count(overdue), { link: href(['events'], { type: 'message.overdue' }), tone: 'warn' }),
      tile('Quarantined', count(quarantined), { link: href(['quarantine']), tone: quarantined > 0 ? 'warn' : '' }),
    ),
    h(
      'p',
      { class: 'quiet' },
      'What this process took and refused since ',
      time(since),
      '; the rest is what is kept now.',
    ),
    counts.taken + counts.refused + overview.trouble.length === 0 &&
      empty('Nothing has come yet.', [
        'Does the service post to this app? ',
        h('code', {}, 'npx messaging-webhooks doctor <url>'),
        ' tries it.',
      ]),
    panel('Over time', plot(overview.plot)),
    h(
      'div',
      { class: 'columns' },
      counted('By type', overview.byType, (type) => href(['events'], { type })),
      counted('By channel', overview.byChannel, (channel) => href(['events'], { channel })),
      counted('By carrier', overview.byCarrier, (carrier) => href(['events'], { carrier })),
      counted('Refused, by code', overview.refusedBy),
      counted('In quarantine, by class', quarantine, (name) => href(['quarantine'], { class: name })),
    ),
    trouble(overview),
    where,
  ]
}

function countOrNot(number: number | undefined): string {
  return number === undefined ? 'not known' : count(number)
}

function ageOf({ oldestDueSeconds, running }: Overview['backlog']): string {
  const age =
    oldestDueSeconds === undefined || oldestDueSeconds <= 0
      ? []
      : [`oldest due for ${duration(oldestDueSeconds * 1_000)}`]
  return [...(running > 0 ? [`${count(running)} running`] : []), ...age].join(', ')
}

function tile(
  name: string,
  value: string,
  { tone = '', note = '', link }: { tone?: string; note?: string; link?: string } = {},
): Tree {
  const content = [h('b', {}, value), h('span', {}, name), note !== '' && h('small', {}, note)]
  return h('li', { key: name, class: `tile ${tone}` }, link === undefined ? content : h('a', { href: link }, content))
}

function health({ health: { live, ready, working, reasons } }: Overview): Tree {
  const isWell = live && ready && working
  const said = isWell
    ? 'Live, ready and working.'
    : `${[live ? '' : 'not live', ready ? '' : 'not ready to take callbacks', working ? '' : 'not working through what it has'].filter((part) => part !== '').join(', ')}.`
  return h(
    'div',
    { class: `note ${isWell ? 'good' : 'bad'}` },
    h('strong', {}, 'Health: '),
    said,
    reasons.length > 0 &&
      h(
        'ul',
        {},
        reasons.map((reason) => h('li', {}, reason)),
      ),
  )
}

function counted(title: string, counts: Readonly<Record<string, number>>, linkOf?: (name: string) => string): Child {
  const some = Object.fromEntries(Object.entries(counts).filter(([, number]) => number > 0))
  return Object.keys(some).length > 0 && panel(title, tally(title, some, linkOf))
}

function trouble({ trouble: rows }: Overview): Child {
  if (rows.length === 0) return undefined
  return panel(
    'What went wrong lately',
    table({
      caption: 'What went wrong lately, newest first',
      rows,
      keyOf: ({ at, code }) => `${code} ${at}`,
      columns: [
        { name: 'Last', cell: ({ at }) => time(at) },
        { name: 'Code', cell: ({ code }) => h('code', {}, code) },
        { name: 'What', class: 'wide', cell: ({ message }) => prose(message.replace(/ See \S+$/, '')) },
        { name: 'Times', class: 'number', cell: ({ count: times }) => `${count(times)}×` },
      ],
    }),
  )
}

const STATES = { up: 'answers', away: 'does not answer', closed: 'is closed' } as const

function kept({ store, spool, backlog }: Overview, isDurable: boolean): Tree {
  return facts([
    ['Store', `${store.name}, ${STATES[store.state]}${isDurable ? '' : '; what is in it ends with the process'}`],
    ['Spool', spool === undefined ? 'none' : `${several(spool.events, 'event')}, ${bytes(spool.bytes)}`],
    ['Not settled', countOrNot(backlog.unsettled)],
    ['Running here', count(backlog.running)],
  ])
}

function holders({ holders: rows }: Overview): Tree {
  return table({
    caption: 'Processes that have the store open',
    class: 'whole',
    rows,
    keyOf: ({ name }) => name,
    columns: [
      { name: 'Process', cell: ({ name, isSelf }) => [h('span', { class: 'id' }, name), isSelf && ' (this one)'] },
      { name: 'Since', cell: ({ since }) => time(since) },
      { name: 'Silent for', class: 'number', cell: ({ silentMs }) => duration(silentMs) },
      { name: 'Holds', class: 'number', cell: ({ held }) => several(held, 'event') },
    ],
  })
}
