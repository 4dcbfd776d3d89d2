/** What would somebody use instead, and how fast is that? The same work: prove, keep, once, hand over, mark done. */
import type { Contender } from '../contenders/contender.ts'
import { STORES, storesHere, type StoreEntry, type StoreName } from '../contenders/stores.ts'
import { CONTENDERS, type ContenderName } from '../contenders/table.ts'
import { ratioOf, type Spread } from '../measure/ratios.ts'
import { runRounds, type Measured, type Sample } from '../measure/rounds.ts'
import { DATABASE_NOTE, FIGURES_NOTE, figuresFor, hasDatabase, ratio } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { doesTable } from './does.ts'
import { describeRounds, roundsOf } from './program.ts'

interface Alternative {
  readonly contender: ContenderName
  /** As many times as fast this receiver is to be. */
  readonly target: number
}

interface Work {
  readonly store: StoreName
  readonly own: ContenderName
  readonly others: readonly Alternative[]
}

const WORK: readonly Work[] = [
  { store: 'redis', own: 'express-redis', others: [{ contender: 'bullmq', target: 2 }] },
  {
    store: 'postgres',
    own: 'express-postgres',
    others: [
      { contender: 'pg-boss', target: 3 },
      { contender: 'graphile-worker', target: 3 },
    ],
  },
  { store: 'sqlite', own: 'express-sqlite', others: [{ contender: 'sqlite-by-hand', target: 5 }] },
]

export async function runSameWork(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const here = await storesHere()
  const works = WORK.filter(({ store }) => here.includes(store) && (settings.only?.includes(store) ?? true))
  const names = works.flatMap(({ own, others }) => [own, ...others.map(({ contender }) => contender)])
  const measured = await runRounds(
    names.map((contender) => ({ label: CONTENDERS[contender].label, contender })),
    options,
  )
  const samplesOf = (contender: ContenderName): readonly Sample[] =>
    measured.find(({ lane }) => lane.contender === contender)?.samples ?? []
  return {
    title: 'The same work: proven, kept, once, handed over and marked done',
    notes: [
      describeRounds(options),
      'All in Express 5, one process; every callback is kept before its 204.',
      'Ratios say how many times as much the other one takes: above 1, this receiver is faster or cheaper.',
      'ours by rate: callbacks a second until the last handler ran; by CPU, by DB: the CPU time of the server’s process, of the database server.',
      `On the disk: ${(await durabilities(works)).join('; ')}.`,
      ...names.flatMap(settingsNote),
      FIGURES_NOTE,
      DATABASE_NOTE,
    ],
    tables: [...works.map((work) => workTable(work, measured, samplesOf)), doesTable(measured)],
    data: works.flatMap(({ own, others }) =>
      [{ contender: own, target: 1 }, ...others].map(({ contender, target }) => ({
        contender,
        target,
        ...ratiosOf(samplesOf(own), samplesOf(contender)),
        samples: samplesOf(contender),
      })),
    ),
  }
}

async function durabilities(works: readonly Work[]): Promise<readonly string[]> {
  return Promise.all(
    works.map(async ({ store }) => {
      const { durability }: StoreEntry = STORES[store]
      return (await durability?.()) ?? STORES[store].label
    }),
  )
}

function settingsNote(name: ContenderName): readonly string[] {
  const { label, settings }: Contender = CONTENDERS[name]
  return settings === undefined ? [] : [`${label}: ${settings}.`]
}

function workTable(
  { store, own, others }: Work,
  measured: readonly Measured[],
  samplesOf: (contender: ContenderName) => readonly Sample[],
): Table {
  const rows = [{ contender: own, target: undefined }, ...others]
  const shown = measured.filter(({ lane }) => rows.some(({ contender }) => contender === lane.contender))
  const withDatabase = hasDatabase(shown)
  const figures = figuresFor(shown)
  return {
    head: [
      STORES[store].label,
      'ours by rate',
      'target',
      'by CPU',
      ...(withDatabase ? ['by DB'] : []),
      ...figures.head,
    ],
    rows: rows.map(({ contender, target }) => {
      const { rate, cpu, database } = ratiosOf(samplesOf(own), samplesOf(contender))
      return [
        CONTENDERS[contender].label,
        ratio(rate),
        target?.toFixed(0) ?? '',
        ratio(cpu),
        ...(withDatabase ? [ratio(database)] : []),
        ...figures.of(samplesOf(contender)),
      ]
    }),
  }
}

/** What the other one takes over what ours takes. */
function ratiosOf(
  own: readonly Sample[],
  other: readonly Sample[],
): { readonly rate: Spread; readonly cpu: Spread; readonly database: Spread } {
  const of = (figure: (sample: Sample) => number): Spread => ratioOf(other.map(figure), own.map(figure))
  return {
    rate: of((sample) => sample.microseconds),
    cpu: of((sample) => sample.cpuMicroseconds),
    database: of((sample) => sample.databaseMicroseconds ?? NaN),
  }
}
