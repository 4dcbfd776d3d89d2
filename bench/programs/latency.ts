/** How long does an answer take, at full load and at half of it, beside an app that verifies by hand and keeps nothing? */
import { STORES, storesHere, type StoreName } from '../contenders/stores.ts'
import { SLOWER_THAN_MS } from '../load/latencies.ts'
import { ratioOf, spreadOf } from '../measure/ratios.ts'
import { runRounds, type Lane, type Measured } from '../measure/rounds.ts'
import { middle, ratio } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const LIMIT: Lane = { label: 'node:http, HMAC, zod', contender: 'node-http-verified' }
const BY_HAND: Lane = { label: 'Express by hand', contender: 'express-by-hand' }

export async function runLatency(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const stores = (await storesHere()).filter((store) => settings.only?.includes(store) ?? true)
  const laneOf = (store: StoreName): Lane => ({ label: STORES[store].label, contender: `express-${store}` })
  const full = await runRounds([LIMIT, BY_HAND, ...stores.map(laneOf)], options)
  const half = await runRounds(
    full.slice(2).flatMap(({ lane, samples }): readonly Lane[] => {
      const rate = 5e5 / spreadOf(samples.map((sample) => sample.microseconds)).median
      return [
        { ...BY_HAND, label: 'by hand, at the same rate', rate },
        { ...lane, rate },
      ]
    }),
    options,
  )
  return {
    title: 'How long an answer takes, beside an app that verifies by hand and keeps nothing',
    notes: [
      describeRounds(options),
      'Target at full load: the p99 of memory is that by hand. At half load: the p99 of SQLite is less than twice that of memory.',
      'At half load requests are sent at a fixed rate, half of what the store took at full load; their times count from when each was due.',
      'collection: the longest pause of the garbage collector in a round, in the main thread. slower than: the share of answers, in percent.',
    ],
    tables: [
      tailTable(
        'full load',
        full.map((row) => ({ row, base: full[1] })),
      ),
      tailTable(
        'half load',
        // Each row by hand comes before the row of its store.
        half.map((row, index) => ({ row, base: half[index - (index % 2)] })),
      ),
    ],
    data: { full: dataOf(full), half: dataOf(half) },
  }
}

function tailTable(
  title: string,
  rows: readonly { readonly row: Measured; readonly base: Measured | undefined }[],
): Table {
  return {
    head: [
      title,
      'a second',
      'p99 beside by hand',
      ...['p50 ms', 'p99', 'p99.9', 'most', 'collection'],
      ...SLOWER_THAN_MS.map((ms, index) => (index === 0 ? `slower than ${ms} ms` : `${ms}`)),
    ],
    rows: rows.map(({ row: { lane, samples }, base }) => [
      lane.label,
      (lane.rate ?? 1e6 / middle(samples, (sample) => sample.microseconds)).toFixed(0),
      ratio(
        ratioOf(
          samples.map((sample) => sample.p99Ms),
          base?.samples.map((sample) => sample.p99Ms) ?? [],
        ),
      ),
      middle(samples, (sample) => sample.p50Ms).toFixed(2),
      middle(samples, (sample) => sample.p99Ms).toFixed(1),
      middle(samples, (sample) => sample.p999Ms).toFixed(1),
      middle(samples, (sample) => sample.maxMs).toFixed(1),
      middle(samples, (sample) => sample.longestPauseMs).toFixed(1),
      ...SLOWER_THAN_MS.map((_, index) => (100 * middle(samples, ({ slower }) => slower[index] ?? NaN)).toFixed(2)),
    ]),
  }
}
