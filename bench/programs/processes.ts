/** Does a second process on the same store increase the rate of callbacks, and a third? */
import { STORES, storesHere, type StoreEntry, type StoreName } from '../contenders/stores.ts'
import { runRounds, type Lane, type Measured, type Sample } from '../measure/rounds.ts'
import { ANY_CORES } from '../processes/pinned.ts'
import { DATABASE_NOTE, FIGURES_NOTE, middle } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const PROCESSES = [1, 2, 3] as const
/** The reports of a message; any of the processes may receive each. */
const STATUSES = ['queued', 'success'] as const

export async function runProcesses(settings: Settings): Promise<Report> {
  const options = roundsOf(settings, { cores: ANY_CORES })
  const stores = (await storesHere()).filter((store) => isShared(store) && (settings.only?.includes(store) ?? true))
  const measured = await runRounds(stores.flatMap(lanesOf), options)
  const of = (store: StoreName): readonly Measured[] =>
    measured.filter(({ lane }) => lane.contender === `node-http-${store}`)
  return {
    title: 'Receiver processes on one store',
    notes: [
      describeRounds(options),
      'Each message has two reports; every callback goes to one of the processes at random. Handlers are counted over all of them.',
      'Nothing is pinned here, unlike in other programs: receivers, load and database share all cores.',
      'µs CPU, RSS, heap: of all receivers together. cores busy: of receivers, database and load together; where that is near the number of cores, the machine was the limit, and the costs say more than the rate.',
      FIGURES_NOTE,
      DATABASE_NOTE,
    ],
    tables: stores.flatMap((store) => [besideFirst(STORES[store].label, of(store)), ratesTable(store, of(store))]),
    data: dataOf(measured),
  }
}

function isShared(store: StoreName): boolean {
  const { server }: StoreEntry = STORES[store]
  return server !== undefined
}

function lanesOf(store: StoreName): readonly Lane[] {
  return PROCESSES.map((processes) => ({
    label: processes === 1 ? '1 process' : `${processes} processes`,
    contender: `node-http-${store}`,
    processes,
    reports: { statuses: STATUSES },
  }))
}

function ratesTable(store: StoreName, measured: readonly Measured[]): Table {
  return {
    head: [STORES[store].label, 'a second', 'cores busy'],
    rows: measured.map(({ lane, samples }) => [
      lane.label,
      (1e6 / middle(samples, ({ microseconds }) => microseconds)).toFixed(0),
      middle(samples, coresBusy).toFixed(2),
    ]),
  }
}

function coresBusy({ microseconds, cpuMicroseconds, databaseMicroseconds = 0, loadCpuShare }: Sample): number {
  return (cpuMicroseconds + databaseMicroseconds) / microseconds + loadCpuShare
}
