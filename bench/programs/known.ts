/** Does a store that knows a million messages take longer for the next one? And what does each cost it in memory? */
import { STORES, storesHere, type StoreName } from '../contenders/stores.ts'
import { spreadOf } from '../measure/ratios.ts'
import { runRounds, type Lane, type Measured } from '../measure/rounds.ts'
import { FIGURES_NOTE } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const KNOWN = [1_000, 10_000, 100_000, 1_000_000] as const
/** A quick look fills no disk. */
const MOST_QUICKLY = 10_000

export async function runKnown(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const counts = KNOWN.filter((known) => !settings.quick || known <= MOST_QUICKLY)
  const stores = (await storesHere()).filter((store) => settings.only?.includes(store) ?? true)
  const measured = new Map<StoreName, readonly Measured[]>()
  for (const store of stores) {
    const lanes = counts.map((known): Lane => {
      return { label: `${known} known`, contender: `node-http-${store}`, start: { known } }
    })
    measured.set(store, await runRounds(lanes, options))
  }
  const memory = measured.get('memory')
  return {
    title: 'Cost against the number of messages known',
    notes: [describeRounds(options), 'Known: settled before the first round.', FIGURES_NOTE],
    tables: [
      ...stores.map((store) => besideFirst(STORES[store].label, measured.get(store) ?? [])),
      ...(memory === undefined ? [] : [heapTable(memory)]),
    ],
    data: Object.fromEntries([...measured].map(([store, rows]) => [store, dataOf(rows)])),
  }
}

/** The difference of two heaps after a collection, which both have taken the same callbacks beside. */
function heapTable(measured: readonly Measured[]): Table {
  const heapOf = ({ samples }: Measured): number => spreadOf(samples.map((sample) => sample.heapBytes)).median
  const [first, ...others] = measured
  const base = first === undefined ? 0 : heapOf(first)
  const knownOf = (row: Measured | undefined): number => row?.lane.start?.known ?? 0
  return {
    head: ['memory store', 'bytes of heap for each further message known'],
    rows: others.map((row) => [row.lane.label, ((heapOf(row) - base) / (knownOf(row) - knownOf(first))).toFixed(0)]),
  }
}
