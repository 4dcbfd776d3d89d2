/** How long does an answer take at half of a store's maximum rate, in memory compared with the durable stores? */
import { STORES, storesHere, type StoreName } from '../contenders/stores.ts'
import { ratioOf, spreadOf } from '../measure/ratios.ts'
import { runRounds, type Lane } from '../measure/rounds.ts'
import { DATABASE_NOTE, FIGURES_NOTE, figuresFor, ratio } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

export async function runHalfLoad(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const stores = await storesHere()
  const lane = (store: StoreName): Lane => ({ label: STORES[store].label, contender: `node-http-${store}` })
  const full = await runRounds(stores.map(lane), roundsOf(settings, { rounds: Math.min(3, settings.rounds) }))
  const rates = full.map(({ samples }) => 1e6 / spreadOf(samples.map((sample) => sample.microseconds)).median)
  // Each store runs at half of its own maximum; memory also runs at half of each other maximum, to compare at equal load.
  const lanes = stores.flatMap((store, index): readonly Lane[] => {
    const rate = (rates[index] ?? 0) / 2
    const own = { ...lane(store), rate }
    return store === 'memory' ? [own] : [{ ...lane('memory'), label: `memory at the rate of ${store}`, rate }, own]
  })
  const measured = await runRounds(lanes, options)
  const figures = figuresFor(measured)
  const p99s = measured.map(({ samples }) => samples.map((sample) => sample.p99Ms))
  return {
    title: 'How long an answer takes at half load',
    notes: [
      describeRounds(options),
      'Target: p99 of SQLite less than twice that of memory.',
      'Sent at a fixed rate, half of what the store took at full load; measured from when each was due.',
      FIGURES_NOTE,
      DATABASE_NOTE,
    ],
    tables: [
      {
        head: ['store', 'a second', 'p99 beside memory', ...figures.head],
        rows: measured.map(({ lane: { label, rate }, samples }, index) => [
          label,
          (rate ?? 0).toFixed(0),
          // The row before each durable store is memory at the same rate.
          index < 2 || index % 2 === 1 ? '' : ratio(ratioOf(p99s[index] ?? [], p99s[index - 1] ?? [])),
          ...figures.of(samples),
        ]),
      },
    ],
    data: dataOf(measured),
  }
}
