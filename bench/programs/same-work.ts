/** How fast are the alternatives at the same work: verify, store, deduplicate, dispatch, mark as done? */
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
  /** The speed that this receiver must reach, as a multiple of the other one's. */
  readonly target: number
}

interface Work {
  readonly store: StoreName
  readonly own: ContenderName
  readonly others: readonly Alternative[]
}

const WORK: readonly Work[] = [
  { store: 'redis', own: 'express-redis', others: [{ contender: 'bullmq', target: 1.3 }] },
  {
    store: 'postgres',
    own: 'express-postgres',
    others: [
      { contender: 'pg-boss', target: 3.5 },
      { contender: 'graphile-worker', target: 5 },
    ],
  },
  { store: 'sqlite', own: 'express-sqlite', others: [{ contender: 'sqlite-by-hand', target: 5 }] },
]

/** The part of the work that all share: it verifies in Express, answers, and keeps nothing. */
const SHARED: ContenderName = 'express-by-hand'

export async function runSameWork(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const here = await storesHere()
  const works = WORK.filter(({ store }) => here.includes(store) && (settings.only?.includes(store) ?? true))
  const names = [SHARED, ...works.flatMap(({ own, others }) => [own, ...others.map(({ contender }) => contender)])]
  const measured = await runRounds(
    names.map((contender) => ({ label: CONTENDERS[contender].label, contender })),
    options,
  )
  const samplesOf = (contender: ContenderName): readonly Sample[] =>
    measured.find(({ lane }) => lane.contender === contender)?.samples ?? []
  return {
    title: 'The same work: verified, stored, deduplicated, dispatched and marked as done',
    notes: [
      describeRounds(options),
      'All in Express 5, one process; every callback is stored before its 204.',
      'Ratios: cost of the other tool divided by cost of this receiver; above 1, this receiver is faster or cheaper.',
      'ours by rate: callbacks a second until the last handler ran; by CPU, by DB: the CPU time of the server’s process, of the database server.',
      `own part: by CPU without what “${CONTENDERS[SHARED].label}” costs in the same round, which verifies and keeps nothing.`,
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
        ...ratiosOf(samplesOf(own), samplesOf(contender), samplesOf(SHARED)),
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
      'own part',
      ...(withDatabase ? ['by DB'] : []),
      ...figures.head,
    ],
    rows: rows.map(({ contender, target }) => {
      const { rate, cpu, part, database } = ratiosOf(samplesOf(own), samplesOf(contender), samplesOf(SHARED))
      return [
        CONTENDERS[contender].label,
        ratio(rate),
        target?.toFixed(1) ?? '',
        ratio(cpu),
        ratio(part),
        ...(withDatabase ? [ratio(database)] : []),
        ...figures.of(samplesOf(contender)),
      ]
    }),
  }
}

/** Cost of the other tool divided by cost of this receiver. */
function ratiosOf(
  own: readonly Sample[],
  other: readonly Sample[],
  shared: readonly Sample[],
): { readonly rate: Spread; readonly cpu: Spread; readonly part: Spread; readonly database: Spread } {
  const of = (figure: (sample: Sample) => number): Spread => ratioOf(other.map(figure), own.map(figure))
  return {
    rate: of((sample) => sample.microseconds),
    cpu: of((sample) => sample.cpuMicroseconds),
    part: ratioOf(partsOf(other, shared), partsOf(own, shared)),
    database: of((sample) => sample.databaseMicroseconds ?? NaN),
  }
}

/** The CPU time of each round beyond that of the shared part in the same round. */
function partsOf(samples: readonly Sample[], shared: readonly Sample[]): readonly number[] {
  return samples.map(({ cpuMicroseconds }, round) => cpuMicroseconds - (shared[round]?.cpuMicroseconds ?? NaN))
}
