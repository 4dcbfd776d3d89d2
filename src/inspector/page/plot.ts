/** What came over time: taken events above the line, what went wrong below it. The same as a table, for who does not see it. */
import type { Overview } from '../shapes.ts'
import { h, type Tree } from './elements.ts'
import { table } from './parts.ts'
import { count, duration, localTime, time } from './words.ts'

type Bucket = Overview['plot']['buckets'][number]
type Series = Exclude<keyof Bucket, 'at'>

/** From the line outwards. */
const ABOVE = ['new', 'late', 'duplicate'] as const satisfies readonly Series[]
const BELOW = ['failed', 'refused'] as const satisfies readonly Series[]
const LABELS: Readonly<Record<Series, string>> = {
  new: 'New',
  late: 'Late',
  duplicate: 'Duplicate',
  failed: 'Failed attempt',
  refused: 'Refused',
}

const HEIGHT = 100
const WIDTH = 900
/** A process that has just begun has few; wider bars would say nothing more. */
const LEAST_BUCKETS = 60

function sum(bucket: Bucket, series: readonly Series[]): number {
  return series.reduce((all, name) => all + bucket[name], 0)
}

export function plot({ bucketSeconds, buckets }: Overview['plot']): Tree {
  const above = Math.max(...buckets.map((bucket) => sum(bucket, ABOVE)), 0)
  const below = Math.max(...buckets.map((bucket) => sum(bucket, BELOW)), 0)
  const first = buckets[0]
  if (first === undefined || above + below === 0)
    return h('p', { class: 'quiet' }, 'Nothing has come to this process in the time that it remembers.')
  const scale = HEIGHT / (above + below)
  const line = above * scale
  const missing = Math.max(0, LEAST_BUCKETS - buckets.length)
  const width = WIDTH / (buckets.length + missing)
  const all = [...ABOVE, ...BELOW]
  const totals = all.map((name) => [name, buckets.reduce((total, bucket) => total + bucket[name], 0)] as const)
  const span = duration(bucketSeconds * buckets.length * 1_000)
  return h(
    'figure',
    { class: 'plot' },
    h(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `The last ${span}: ${totals.map(([name, total]) => `${LABELS[name]} ${total}`).join(', ')}`,
      },
      buckets.map((bucket, index) => bars(bucket, (missing + index) * width, width, line, scale)),
      h('path', { class: 'axis', d: `M0 ${line.toFixed(1)}H${WIDTH}` }),
    ),
    h(
      'div',
      { class: 'axis', 'aria-hidden': 'true' },
      h('span', {}, localTime(new Date(Date.parse(first.at) - missing * bucketSeconds * 1_000), false)),
      h('span', {}, `most ${count(Math.max(above, below))} in ${duration(bucketSeconds * 1_000)}`),
      h('span', {}, 'now'),
    ),
    h(
      'figcaption',
      {},
      totals.map(([name, total]) =>
        h('span', { key: name, class: `swatch ${name}` }, `${LABELS[name]} `, h('b', {}, count(total))),
      ),
    ),
    asTable(buckets, all),
  )
}

function bars(bucket: Bucket, x: number, width: number, line: number, scale: number): Tree {
  const rects: Tree[] = []
  const bar = (name: Series, y: number): number => {
    const height = bucket[name] * scale
    if (height > 0)
      rects.push(
        h('rect', {
          key: name,
          class: name,
          x: (x + width * 0.12).toFixed(2),
          y: y.toFixed(2),
          width: (width * 0.76).toFixed(2),
          height: height.toFixed(2),
        }),
      )
    return height
  }
  let top = line
  for (const name of ABOVE) top -= bar(name, top - bucket[name] * scale)
  let bottom = line
  for (const name of BELOW) bottom += bar(name, bottom)
  const said = [...ABOVE, ...BELOW].filter((name) => bucket[name] > 0).map((name) => `${LABELS[name]} ${bucket[name]}`)
  const at = localTime(new Date(bucket.at))
  return h(
    'g',
    { key: bucket.at },
    h('title', {}, `${at}: ${said.length === 0 ? 'nothing' : said.join(', ')}`),
    h('rect', { class: 'hit', x: x.toFixed(2), y: 0, width: width.toFixed(2), height: HEIGHT }),
    rects,
  )
}

function asTable(buckets: readonly Bucket[], series: readonly Series[]): Tree {
  return h(
    'details',
    {},
    h('summary', {}, 'As a table'),
    table({
      caption: 'What came, by time',
      class: 'plain',
      rows: buckets.filter((bucket) => sum(bucket, series) > 0),
      keyOf: ({ at }) => at,
      columns: [
        { name: 'From', cell: ({ at }) => time(at) },
        ...series.map((name) => ({
          name: LABELS[name],
          class: 'number',
          cell: (bucket: Bucket) => count(bucket[name]),
        })),
      ],
    }),
  )
}
