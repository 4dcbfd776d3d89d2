/** Does a second process on the same store increase the rate of callbacks, and do four? Beside job queues with as many. */
import type { Contender } from '../contenders/contender.ts'
import { isSharedStore } from '../contenders/shared.ts'
import { storesHere, type StoreName } from '../contenders/stores.ts'
import { CONTENDERS, type ContenderName } from '../contenders/table.ts'
import { runRounds, type Lane, type Measured, type Sample } from '../measure/rounds.ts'
import { ANY_CORES } from '../processes/pinned.ts'
import { DATABASE_NOTE, FIGURES_NOTE, middle } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const PROCESSES = [1, 2, 4] as const
/** The reports of a message; any of the processes may receive each. */
const STATUSES = ['queued', 'success'] as const
const QUEUES: readonly ContenderName[] = ['bullmq', 'pg-boss']

export async function runProcesses(settings: Settings): Promise<Report> {
  const options = roundsOf(settings, { cores: ANY_CORES })
  const stores = (await storesHere()).filter((store) => settings.only?.includes(store) ?? true)
  const contenders = [
    ...stores.filter(isSharedStore).map((store): ContenderName => `express-${store}`),
    ...QUEUES.filter((queue) => stores.includes(storeOf(queue))),
  ]
  const measured: Measured[] = []
  // One contender at a time: all of them together open more connections than a server allows.
  for (const contender of contenders) measured.push(...(await runRounds(lanesOf(contender), options)))
  const of = (contender: ContenderName): readonly Measured[] =>
    measured.filter(({ lane }) => lane.contender === contender)
  return {
    title: 'Processes on one store',
    notes: [
      describeRounds(options),
      'Each message has two reports; every callback goes to one of the processes at random. Handlers are counted over all of them.',
      'Nothing is pinned here, unlike in other programs: receivers, load and database share all cores.',
      'µs CPU, RSS, heap: of all receivers together. cores busy: of receivers, database and load together; where that is near the number of cores, the machine was the limit, and the costs say more than the rate.',
      FIGURES_NOTE,
      DATABASE_NOTE,
    ],
    tables: contenders.flatMap((contender) => [
      besideFirst(CONTENDERS[contender].label, of(contender)),
      ratesTable(contender, of(contender)),
    ]),
    data: dataOf(measured),
  }
}

function storeOf(contender: ContenderName): StoreName {
  const { store = 'memory' }: Contender = CONTENDERS[contender]
  return store
}

function lanesOf(contender: ContenderName): readonly Lane[] {
  return PROCESSES.map((processes) => ({
    label: processes === 1 ? '1 process' : `${processes} processes`,
    contender,
    processes,
    reports: { statuses: STATUSES },
  }))
}

function ratesTable(contender: ContenderName, measured: readonly Measured[]): Table {
  return {
    head: [CONTENDERS[contender].label, 'a second', 'cores busy'],
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
