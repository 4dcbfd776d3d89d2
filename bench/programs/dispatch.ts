/** How fast does the receiver dispatch a backlog, from each store compared with memory? */
import type { ChildProcess } from 'node:child_process'
import { STORES, storesHere, type StoreName } from '../contenders/stores.ts'
import { createDatabases } from '../database/databases.ts'
import type { Admitted, DispatchQuestion, Dispatched, Removed } from '../dispatcher/process.ts'
import { ratioOf, spreadOf } from '../measure/ratios.ts'
import { ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import { ratio } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { roundsOf } from './program.ts'

const CONCURRENCY = [16, 128] as const

interface Sample extends Dispatched {
  readonly databaseMicroseconds: number | undefined
}

interface Entrant {
  readonly store: StoreName
  readonly concurrency: number
  readonly child: ChildProcess
  readonly samples: Sample[]
}

export async function runDispatch(settings: Settings): Promise<Report> {
  const { rounds, warmUps, callbacks: events, onRound } = roundsOf(settings)
  const stores = (await storesHere()).filter((store) => settings.only?.includes(store) ?? true)
  const databases = createDatabases()
  const entrants = CONCURRENCY.flatMap((concurrency) =>
    stores.map((store): Entrant => {
      const program = new URL('../dispatcher/process.ts', import.meta.url)
      return {
        store,
        concurrency,
        child: startPinned(program, [store, String(concurrency)], CORES.server),
        samples: [],
      }
    }),
  )
  try {
    for (let round = 0; round < warmUps + rounds; round += 1) {
      onRound?.(round)
      const first = round % entrants.length
      for (const { store, child, samples } of [...entrants.slice(first), ...entrants.slice(0, first)]) {
        await ask<Admitted>(child, { admit: events } satisfies DispatchQuestion)
        const database = await databases.of(store)
        const beforeMs = await database?.readMs()
        const dispatched = await ask<Dispatched>(child, { dispatch: true } satisfies DispatchQuestion)
        const afterMs = await database?.readMs()
        await remove(child)
        const databaseMicroseconds =
          beforeMs === undefined || afterMs === undefined ? undefined : ((afterMs - beforeMs) * 1_000) / events
        if (round >= warmUps) samples.push({ ...dispatched, databaseMicroseconds })
      }
    }
  } finally {
    for (const { child } of entrants) {
      // A child that has ended has reported why.
      if (child.connected) await remove(child)
      if (child.connected) child.disconnect()
    }
    await databases.close()
  }
  return {
    title: 'Dispatching a backlog',
    notes: [
      `${rounds} interleaved rounds after ${warmUps} of warm-up; in each and for each row ${events} events of as many messages, ` +
        'admitted to a store of their own before the clock runs. Ratios: the median of those of each round (least-most).',
      'A receiver without a middleware starts on the open store; rate: from there to the last handler.',
      'µs: for one event, of that time; µs CPU: of the process, until all are settled; µs DB: of the whole database server; empty where it cannot be had.',
    ],
    tables: CONCURRENCY.map((concurrency) =>
      tableOf(
        concurrency,
        entrants.filter((entrant) => entrant.concurrency === concurrency),
      ),
    ),
    data: entrants.map(({ store, concurrency, samples }) => ({ store, concurrency, samples })),
  }
}

async function remove(child: ChildProcess): Promise<void> {
  await ask<Removed>(child, { remove: true } satisfies DispatchQuestion)
}

function tableOf(concurrency: number, entrants: readonly Entrant[]): Table {
  const times = (entrant: Entrant | undefined): readonly number[] =>
    entrant?.samples.map((sample) => sample.microseconds) ?? []
  const [first] = entrants
  return {
    head: [`concurrency ${concurrency}`, `beside ${first?.store ?? ''}`, 'a second', 'µs', 'µs CPU', 'µs DB'],
    rows: entrants.map((entrant) => {
      const { store, samples } = entrant
      const { median } = spreadOf(times(entrant))
      const database = spreadOf(samples.map((sample) => sample.databaseMicroseconds ?? NaN)).median
      return [
        STORES[store].label,
        ratio(ratioOf(times(first), times(entrant))),
        (1e6 / median).toFixed(0),
        median.toFixed(1),
        spreadOf(samples.map((sample) => sample.cpuMicroseconds)).median.toFixed(1),
        Number.isNaN(database) ? '' : database.toFixed(1),
      ]
    }),
  }
}
