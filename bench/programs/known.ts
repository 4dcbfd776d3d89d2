/** Does a store that knows a million messages take longer for the next one? How much memory does each message cost? */
import { STORES, storesHere, type StoreName } from '../contenders/stores.ts'
import { spreadOf } from '../measure/ratios.ts'
import { runRounds, type Lane, type Measured } from '../measure/rounds.ts'
import { DATABASE_NOTE, FIGURES_NOTE } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const KNOWN = [1_000, 10_000, 100_000, 1_000_000] as const
/** Keeps the disk usage of a quick run small. */
const MAX_QUICKLY = 10_000
/** Each message takes two kilobytes of a server's memory, and the server may be in use by others. */
const MAX_IN_REDIS = 100_000
/** Messages of one round are known in the next. Too many would turn the first row into a store that knows as many. */
const MAX_CALLBACKS = 2_000

export async function runKnown(settings: Settings): Promise<Report> {
  const options = roundsOf(settings, { callbacks: Math.min(settings.callbacks, MAX_CALLBACKS) })
  const stores = (await storesHere()).filter((store) => settings.only?.includes(store) ?? true)
  const measured = new Map<StoreName, readonly Measured[]>()
  for (const store of stores) {
    const lanes = countsFor(store, settings).map((known): Lane => {
      return { label: `${known} known`, contender: `node-http-${store}`, start: { known } }
    })
    measured.set(store, await runRounds(lanes, options))
  }
  const memory = measured.get('memory')
  return {
    title: 'Cost against the number of messages known',
    notes: [
      describeRounds(options),
      'Known: settled before the first round; each round adds its callbacks.',
      'Target: from 1000 to 1000000 known, at most 1.3 times the cost with memory and SQLite, 1.5 times with Postgres and Redis; under 500 bytes of heap a message known.',
      FIGURES_NOTE,
      DATABASE_NOTE,
    ],
    tables: [
      ...stores.map((store) => besideFirst(STORES[store].label, measured.get(store) ?? [])),
      ...(memory === undefined ? [] : [heapTable(memory)]),
    ],
    data: Object.fromEntries([...measured].map(([store, rows]) => [store, dataOf(rows)])),
  }
}

function countsFor(store: StoreName, { known, quick }: Settings): readonly number[] {
  if (known !== undefined) return known
  const most = quick ? MAX_QUICKLY : store === 'redis' ? MAX_IN_REDIS : Infinity
  return KNOWN.filter((count) => count <= most)
}

/** The difference of two heaps after a collection; both processes have also accepted the same callbacks. */
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
