/** How the receiver is: first what needs somebody, then what came, what waits, what went wrong. */
import type { VNode } from 'preact'
import type { Attention, Bucket, Overview } from '../shapes.ts'
import { href, idsOf, queryOf, total, useAsked } from './data.ts'
import { decisions } from './deciding.ts'
import { h, type Child, type View } from './ui.ts'
import * as ui from './ui.ts'

/** Its counts come with each change; all of it costs the server more. */
const STALE_MS = 5_000

export function OverviewView(view: View): VNode | VNode[] {
  const { range } = view.route.query
  const asked = useAsked<Overview>(`api/overview${queryOf({ range })}`, () => STALE_MS)
  return h`${ui.heading('Overview')}${ui.answered(asked, (overview) => whole(overview, view))}`
}

function whole(overview: Overview, view: View): Child {
  const { storeAlone, store } = view.session
  const { counts, backlog, deadLetters, quarantine, since, attention, lastByCarrier } = overview
  const waiting = backlog.oldestDueSeconds ?? 0
  return [
    needsAttention(attention, view),
    storeAlone && ui.aloneNote(),
    h`<ul class="tiles">
      ${tile('Accepted', counts.taken, ['events'])}
      ${tile('Duplicates', counts.duplicates)}
      ${tile('Late', counts.late, ['events'], { type: 'late' })}
      ${tile('Refused', counts.refused, ['quarantine'])}
      ${tile('Waiting', backlog.unsettled, ['events'], { outcome: 'waiting' }, waiting >= 1 ? `the oldest for ${ui.duration(waiting * 1_000)}` : '')}
      ${tile('Dead letters', deadLetters, ['dead-letters'])}
      ${tile('In quarantine', total(quarantine), ['quarantine'])}
    </ul>`,
    h`<p class="quiet">Accepted, duplicates, late and refused: by this process since ${ui.time(since)}. Other figures are current totals.</p>`,
    !storeAlone && plotPanel(overview),
    h`<div class="columns">
      ${tally('By type', overview.byType, (name) => href(['events'], { type: name }))}
      ${tally(
        'By carrier',
        overview.byCarrier,
        (name) => href(['events'], { carrier: name }),
        (name) => ui.time(lastByCarrier[name], true),
      )}
      ${ui.panel('Store', storeFacts(overview, store.durable))}
    </div>`,
    overview.holders.length > 0 && ui.panel('Workers', workers(overview)),
    trouble(overview),
  ]
}

function needsAttention(all: readonly Attention[], view: View): Child {
  if (all.length === 0)
    return h`<p class="note good" key="attention"><strong>Nothing needs attention.</strong> Live, ready and working.</p>`
  return ui.problems(
    'Needs attention',
    all.map((each) => ({
      key: each.what + each.text,
      tone: each.what === 'overdue' || each.what === 'backlog' ? 'warn' : 'bad',
      text: h`<strong>${each.title}</strong>${each.since !== undefined && h` since ${ui.time(each.since, true)}`}
        <p class="line" title=${each.text}>${ui.prose(each.text)}</p>`,
      remedy: remedy(each, view),
    })),
  )
}

/** What ends the problem, or leads to what does. */
function remedy({ what, count: number = 0, group, text, title }: Attention, view: View): Child {
  if (what === 'health') return undefined
  if (what === 'refused') return ui.linkButton('Show and verify again', ['quarantine'], { class: group })
  if (what === 'overdue') return ui.linkButton('Show', ['events'], { type: 'send.overdue' })
  if (what === 'backlog') return ui.linkButton('Show', ['events'], { outcome: 'waiting' })
  const targets = { name: `${title} with this error`, count: number, ids: () => idsOf({ error: group }) }
  return [ui.linkButton('Show', ['dead-letters'], { error: group }), decisions(view, targets, `all: ${text}`, ' all')]
}

function tile(name: string, number: number | undefined, path?: readonly string[], query = {}, more = ''): Child {
  const content = h`<b>${number === undefined ? '–' : ui.count(number)}</b><span>${name}</span>${more !== '' && h`<small>${more}</small>`}`
  return h`<li class="tile">${path === undefined ? h`<div>${content}</div>` : h`<a href=${href(path, query)}>${content}</a>`}</li>`
}

/** Names with their counts, the greatest first, each with a bar. */
function tally(
  title: string,
  counts: Readonly<Record<string, number>>,
  linkOf: (name: string) => string,
  moreOf?: (name: string) => Child,
): Child {
  const rows = Object.entries(counts).sort(([, a], [, b]) => b - a)
  const most = rows[0]?.[1] ?? 1
  if (rows.length === 0) return undefined
  return ui.panel(
    title,
    ui.table({
      caption: title,
      class: 'tally',
      rows,
      keyOf: ([name]) => name,
      columns: [
        ['Name', '', ([name]) => h`<a href=${linkOf(name)}>${name}</a>`],
        moreOf !== undefined && ['Last report', 'when', ([name]) => moreOf(name)],
        ['Count', 'number', ([, number]) => ui.count(number)],
        [
          'Share',
          'share',
          ([, number]) =>
            h`<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width=${Math.max(1, (100 * number) / most)} height="6" /></svg>`,
        ],
      ],
    }),
  )
}

function trouble({ trouble: rows }: Overview): Child {
  if (rows.length === 0) return undefined
  return ui.panel(
    'Recent errors',
    ui.table({
      caption: 'Recent errors, newest first',
      rows,
      keyOf: ({ code }) => code,
      columns: [
        ['Last', 'when', ({ at }) => ui.time(at, true)],
        ['Code', '', ({ code }) => h`<code>${code}</code>`],
        ['Message', 'wide', ({ message }) => ui.prose(message.replace(/ See \S+$/, ''))],
        ['Count', 'number', ({ count: times }) => `${ui.count(times)}×`],
      ],
    }),
  )
}

const STATES = { up: 'answers', away: 'does not answer', closed: 'is closed' } as const

function storeFacts({ store, spool, backlog }: Overview, isDurable: boolean): Child {
  return ui.facts([
    ['Store', `${store.name}, ${STATES[store.state]}${isDurable ? '' : '; its content ends with the process'}`],
    ['Spool', spool === undefined ? 'none' : `${ui.several(spool.events, 'event')}, ${ui.bytes(spool.bytes)}`],
    ['Running here', ui.count(backlog.running)],
  ])
}

function workers({ holders }: Overview): Child {
  return ui.table({
    caption: 'Processes that have the store open',
    rows: holders,
    keyOf: ({ name }) => name,
    columns: [
      ['Process', '', ({ name, isSelf }) => [ui.code(name), isSelf && ' (this one)']],
      ['Since', 'when', ({ since }) => ui.time(since)],
      ['Last heartbeat', 'number', ({ silentMs }) => `${ui.duration(silentMs)} ago`],
      ['Leases', 'number', ({ held }) => ui.several(held, 'event')],
    ],
  })
}

type Series = Exclude<keyof Bucket, 'at' | 'attempts'>

/** From the line outwards. */
const ABOVE = ['new', 'late', 'duplicate'] as const satisfies readonly Series[]
const BELOW = ['failed', 'refused'] as const satisfies readonly Series[]
const ALL = [...ABOVE, ...BELOW]
const LABELS: Readonly<Record<Series, string>> = {
  new: 'New',
  late: 'Late',
  duplicate: 'Duplicate',
  failed: 'Failed attempt',
  refused: 'Refused',
}
const RANGES = [['15m', '15 min'], ['1h', '1 h'], ['24h', '24 h']] as const // prettier-ignore

const HEIGHT = 100
const WIDTH = 900
/** A young process has few; wider bars would say nothing more. */
const LEAST_BUCKETS = 45

function sum(bucket: Bucket, series: readonly Series[]): number {
  return series.reduce((all, name) => all + bucket[name], 0)
}

function plotPanel({ plot }: Overview): Child {
  const { range, buckets, handlerP95Ms } = plot
  const attempts = buckets.reduce((all, bucket) => all + bucket.attempts, 0)
  const failed = buckets.reduce((all, bucket) => all + bucket.failed, 0)
  // Never rounded up to a whole.
  const rate = Math.floor(((attempts - failed) / attempts) * 1_000) / 10
  return h`<section class="panel" aria-label="Over time">
    <div class="between">
      <h2>Over time</h2>
      <p>${attempts > 0 && h`<b>${rate}%</b> of ${ui.several(attempts, 'attempt')} succeeded`}
        ${handlerP95Ms !== undefined && h` · handler p95 <b>${ui.duration(handlerP95Ms)}</b>`}</p>
      <nav class="choice" aria-label="Range">${RANGES.map(([name, label]) => ui.linkButton(label, ['overview'], { range: name }, name === range))}</nav>
    </div>
    ${figure(plot)}
  </section>`
}

function figure({ bucketSeconds, buckets }: Overview['plot']): Child {
  const above = Math.max(...buckets.map((bucket) => sum(bucket, ABOVE)), 0)
  const below = Math.max(...buckets.map((bucket) => sum(bucket, BELOW)), 0)
  const first = buckets[0]
  if (first === undefined || above + below === 0) return ui.empty('Nothing came to this process in this time.')
  const scale = HEIGHT / (above + below)
  const line = above * scale
  const missing = Math.max(0, LEAST_BUCKETS - buckets.length)
  const width = WIDTH / (buckets.length + missing)
  const totals = ALL.map((name) => [name, buckets.reduce((total, bucket) => total + bucket[name], 0)] as const)
  const span = ui.duration(bucketSeconds * buckets.length * 1_000)
  const label = `The last ${span}: ${totals.map(([name, total]) => `${LABELS[name]} ${total}`).join(', ')}`
  const middle = Math.ceil(above / 2)
  const ticks = [
    ...new Set([above, ...(line > 45 && middle < above ? [middle] : []), 0, ...(below > 0 ? [-below] : [])]),
  ]
  const yOf = (value: number): number => line - value * scale
  return h`<figure class="plot">
    <div class="ys" aria-hidden="true">${ticks.map((value) => h`<span style=${{ top: `${yOf(value)}%` }}>${ui.count(Math.abs(value))}</span>`)}</div>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${ticks.map((value) => h`<path class=${value === 0 ? 'zero' : ''} d=${`M0 ${yOf(value).toFixed(1)}H${WIDTH}`} />`)}
      ${buckets.map((bucket, index) => bar(bucket, { x: (missing + index) * width, width, line, scale, bucketSeconds }))}
    </svg>
    <div class="axis" aria-hidden="true">
      <span>${ui.clockTime(new Date(Date.parse(first.at) - missing * bucketSeconds * 1_000), false)}</span>
      <span>per ${ui.duration(bucketSeconds * 1_000)}</span><span>now</span>
    </div>
    <figcaption>${totals.map(([name, total]) => h`<span class=${`swatch ${name}`}>${LABELS[name]} <b>${ui.count(total)}</b></span>`)}</figcaption>
    ${asTable(buckets, bucketSeconds)}
  </figure>`
}

interface Place {
  readonly x: number
  readonly width: number
  readonly line: number
  readonly scale: number
  readonly bucketSeconds: number
}

function hrefOfBucket({ at }: Bucket, bucketSeconds: number): string {
  return href(['events'], { from: at, to: new Date(Date.parse(at) + bucketSeconds * 1_000).toISOString() })
}

function bar(bucket: Bucket, { x, width, line, scale, bucketSeconds }: Place): Child {
  const rects: Child[] = []
  const rect = (name: Series, y: number): number => {
    const height = bucket[name] * scale
    if (height > 0)
      rects.push(h`<rect class=${name} x=${x + width * 0.12} y=${y} width=${width * 0.76} height=${height} />`)
    return height
  }
  let top = line
  for (const name of ABOVE) top -= rect(name, top - bucket[name] * scale)
  let bottom = line
  for (const name of BELOW) bottom += rect(name, bottom)
  const said = ALL.filter((name) => bucket[name] > 0).map((name) => `${LABELS[name]} ${bucket[name]}`)
  // The keyboard has the same as links in the table.
  return h`<g key=${bucket.at} onClick=${() => (location.hash = hrefOfBucket(bucket, bucketSeconds))}>
    <title>${ui.clockTime(new Date(bucket.at))}: ${said.length === 0 ? 'nothing' : said.join(', ')}</title>
    <rect class="hit" x=${x} y="0" width=${width} height=${HEIGHT} />${rects}
  </g>`
}

function asTable(buckets: readonly Bucket[], bucketSeconds: number): Child {
  return h`<details><summary>As a table</summary>${ui.table({
    caption: 'What came, by time',
    class: 'plain',
    rows: buckets.filter((bucket) => sum(bucket, ALL) > 0),
    keyOf: ({ at }) => at,
    columns: [
      ['From', '', (bucket) => h`<a href=${hrefOfBucket(bucket, bucketSeconds)}>${ui.time(bucket.at)}</a>`],
      ...ALL.map((name) => [LABELS[name], 'number', (bucket: Bucket) => ui.count(bucket[name])] as const),
    ],
  })}</details>`
}
