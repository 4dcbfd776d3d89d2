/** The overview: problems first, then counts, backlog and failures. */
import type { VNode } from 'preact'
import type { Attention, Bucket, Overview } from '../routes.ts'
import { href, idsOf, queryOf, useAsked } from './data.ts'
import { decisions, type View } from './deciding.ts'
import { h, type Child } from './ui.ts'
import * as ui from './ui.ts'

export function OverviewView(view: View): VNode | VNode[] {
  const { range } = view.route.query
  const asked = useAsked<Overview>(`api/overview${queryOf({ range })}`, view.changes)
  return h`${ui.heading('Overview')}${ui.loaded(asked, (overview) => whole(overview, view))}`
}

function whole(overview: Overview, view: View): Child {
  const { stats, oldestDueMs = 0, quarantined, since, attention, carriers, unhandled } = overview
  // Only the process of the receiver counts these.
  const { storeAlone } = view.session
  const own = (number: number): number | undefined => (storeAlone ? undefined : number)
  const types = Object.entries(stats.byType).map(([name, count]) => ({ name, count, last: undefined }))
  return [
    needsAttention(attention, view),
    h`<ul class="tiles">
      ${tile('Accepted', own(stats.accepted), ['events'])}
      ${tile('Duplicates', own(stats.duplicates))}
      ${tile('Late', own(stats.late), ['events'], { type: 'late' })}
      ${tile('Refused', own(stats.refused), ['quarantine'])}
      ${tile('Waiting', stats.unsettled, ['events'], { outcome: 'waiting' }, oldestDueMs >= 1_000 && `the oldest for ${ui.duration(oldestDueMs)}`)}
      ${tile('Dead letters', stats.deadLetters, ['dead-letters'])}
      ${tile('In quarantine', own(quarantined), ['quarantine'])}
    </ul>`,
    !storeAlone && [
      h`<p class="quiet">Accepted, duplicates, late and refused: by this process since ${ui.time(since)}. Other figures are current totals.</p>`,
      plotPanel(overview.plot),
    ],
    h`<div class="columns">${tally('By type', 'type', types)}${tally('By carrier', 'carrier', carriers)}${tally('Without a handler', 'type', unhandled, { outcome: 'unhandled' })}</div>`,
  ]
}

function needsAttention(all: readonly Attention[], view: View): Child {
  const { storeAlone } = view.session
  if (all.length === 0)
    return h`<p class="note good" key="attention"><strong>${storeAlone ? 'Nothing in the store needs attention.' : 'Nothing needs attention.'}</strong>
      ${storeAlone ? 'Health, refused requests and overdue sends: –' : 'Live, ready and working.'}</p>`
  return ui.problems(
    'Needs attention',
    all.map((each) => ({
      key: each.what + each.text,
      tone: each.what === 'overdue' || each.what === 'backlog' ? 'warn' : 'bad',
      text: h`<strong>${each.title}</strong> since ${ui.time(each.since, true)}
        <p class="line" title=${each.text}>${ui.prose(each.text)}</p>`,
      remedy: remedy(each, view),
    })),
  )
}

/** The action for each problem. Dead letters can be replayed directly. */
function remedy({ what, count: number = 0, group, text, title }: Attention, view: View): Child {
  if (what === 'health') return undefined
  if (what === 'refused') return ui.linkButton('Show and verify again', ['quarantine'], { class: group })
  if (what === 'overdue') return ui.linkButton('Show', ['events'], { type: 'send.overdue' })
  if (what === 'backlog') return ui.linkButton('Show', ['events'], { outcome: 'waiting' })
  const targets = { name: `${title} with this error`, count: number, ids: () => idsOf({ error: group }) }
  return [ui.linkButton('Show', ['dead-letters'], { error: group }), decisions(view, targets, `all: ${text}`, ' all')]
}

function tile(name: string, number: number | undefined, path?: readonly string[], query = {}, more?: Child): Child {
  const content = h`<b>${number === undefined ? '–' : ui.count(number)}</b><span>${name}</span>${more && h`<small>${more}</small>`}`
  return h`<li class="tile">${path === undefined ? h`<div>${content}</div>` : h`<a href=${href(path, query)}>${content}</a>`}</li>`
}

/** Names with their counts, largest first, each with a link to its events. */
function tally(title: string, filter: string, all: Overview['carriers'], query = {}): Child {
  const rows = all.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count)
  if (rows.length === 0) return undefined
  const table = ui.table({
    caption: title,
    class: 'tally',
    rows,
    keyOf: ({ name }) => name,
    columns: [
      ['Name', '', ({ name }) => h`<a href=${href(['events'], { ...query, [filter]: name })}>${name}</a>`],
      ['Last report', 'when', ({ last }) => ui.time(last, true)],
      ['Count', 'number', ({ count }) => ui.count(count)],
    ],
  })
  return ui.panel(title, table)
}

type Series = Exclude<keyof Bucket, 'at' | 'attempts'>

/** The series in the chart, from the zero line outwards. */
const ABOVE = ['new', 'late', 'duplicate'] as const satisfies readonly Series[]
const BELOW = ['failed', 'refused'] as const satisfies readonly Series[]
const ALL = [...ABOVE, ...BELOW]
const LABELS = { new: 'New', late: 'Late', duplicate: 'Duplicate', failed: 'Failed attempt', refused: 'Refused' }
const RANGES = [['15m', '15 min'], ['1h', '1 h'], ['24h', '24 h']] as const // prettier-ignore

const HEIGHT = 100
const WIDTH = 900
/** Limits the width of bars: a young process has few. */
const MIN_BUCKETS = 45

function sum(buckets: readonly Bucket[], names: readonly (Series | 'attempts')[]): number {
  return buckets.reduce((all, bucket) => names.reduce((total, name) => total + bucket[name], all), 0)
}

function plotPanel(plot: Overview['plot']): Child {
  const { range, buckets, handlerP95Ms } = plot
  const attempts = sum(buckets, ['attempts'])
  // Rounds down, so that a failure never shows as 100 %.
  const rate = Math.floor(((attempts - sum(buckets, ['failed'])) / attempts) * 1_000) / 10
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
  const above = Math.max(...buckets.map((bucket) => sum([bucket], ABOVE)), 0)
  const below = Math.max(...buckets.map((bucket) => sum([bucket], BELOW)), 0)
  const first = buckets[0]
  if (first === undefined || above + below === 0) return ui.empty('This process received nothing in this period.')
  const yOf = (value: number): number => (HEIGHT * (above - value)) / (above + below)
  const missing = Math.max(0, MIN_BUCKETS - buckets.length)
  const width = WIDTH / (buckets.length + missing)
  const totals = ALL.map((name) => [name, LABELS[name], sum(buckets, [name])] as const)
  const span = ui.duration(bucketSeconds * buckets.length * 1_000)
  const label = `The last ${span}: ${totals.map(([, title, total]) => `${title} ${total}`).join(', ')}`
  // Without a label that would stand on that of zero.
  const ticks = [above, 0, -below].filter((value) => value === 0 || Math.abs(yOf(value) - yOf(0)) > HEIGHT / 10)
  const begin = new Date(Date.parse(first.at) - missing * bucketSeconds * 1_000)
  const hrefOf = ({ at }: Bucket): string =>
    href(['events'], { from: at, to: new Date(Date.parse(at) + bucketSeconds * 1_000).toISOString() })

  function bar(bucket: Bucket, index: number): Child {
    const x = (missing + index) * width
    const rect = (name: Series, top: number): Child =>
      bucket[name] > 0 &&
      h`<rect class=${name} x=${x + width * 0.12} y=${yOf(top)} width=${width * 0.76} height=${yOf(top - bucket[name]) - yOf(top)} />`
    const parts = ALL.filter((name) => bucket[name] > 0).map((name) => `${LABELS[name]} ${bucket[name]}`)
    // Keyboard users have the same links in the table.
    return h`<g key=${bucket.at} onClick=${() => (location.hash = hrefOf(bucket))}>
      <title>${ui.clockTime(new Date(bucket.at))}: ${parts.length === 0 ? 'nothing' : parts.join(', ')}</title>
      <rect class="hit" x=${x} y="0" width=${width} height=${HEIGHT} />
      ${ABOVE.map((name, place) => rect(name, sum([bucket], ABOVE.slice(0, place + 1))))}
      ${BELOW.map((name, place) => rect(name, -sum([bucket], BELOW.slice(0, place))))}
    </g>`
  }

  const table = ui.table({
    caption: 'Counts by time',
    class: 'plain',
    rows: buckets.filter((bucket) => sum([bucket], ALL) > 0),
    keyOf: ({ at }) => at,
    columns: [
      ['Start', '', (bucket) => h`<a href=${hrefOf(bucket)}>${ui.time(bucket.at)}</a>`],
      ...ALL.map((name) => [LABELS[name], 'number', (bucket: Bucket) => ui.count(bucket[name])] as const),
    ],
  })
  return h`<figure class="plot">
    <div class="ys" aria-hidden="true">${ticks.map((value) => h`<span style=${{ top: `${yOf(value)}%` }}>${ui.count(Math.abs(value))}</span>`)}</div>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${ticks.map((value) => h`<path class=${value === 0 ? 'zero' : ''} d=${`M0 ${yOf(value).toFixed(1)}H${WIDTH}`} />`)}
      ${buckets.map(bar)}
    </svg>
    <div class="axis" aria-hidden="true">
      <span>${ui.clockTime(begin, false)}</span><span>per ${ui.duration(bucketSeconds * 1_000)}</span><span>now</span>
    </div>
    <figcaption>${totals.map(([name, title, total]) => h`<span class=${`swatch ${name}`}>${title} <b>${ui.count(total)}</b></span>`)}</figcaption>
    <details><summary>As a table</summary>${table}</details>
  </figure>`
}
