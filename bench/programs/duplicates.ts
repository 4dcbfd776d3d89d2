/** Does every store accept a duplicate at least as fast as the first arrival? */
import { STORES, storesHere, type StoreName } from '../contenders/stores.ts'
import { runRounds, type Lane } from '../measure/rounds.ts'
import { DATABASE_NOTE, FIGURES_NOTE } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

export async function runDuplicates(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const stores = (await storesHere()).filter((store) => settings.only?.includes(store) ?? true)
  const measured = await runRounds(stores.flatMap(lanesOf), options)
  return {
    title: 'Duplicates beside first arrivals',
    notes: [
      describeRounds(options),
      'Each round sends new callbacks, and then the very same ones again.',
      'Target: duplicates at least as fast as first arrivals.',
      FIGURES_NOTE,
      DATABASE_NOTE,
    ],
    tables: stores.map((store) =>
      besideFirst(
        STORES[store].label,
        measured.filter(({ lane }) => lane.shares === store),
      ),
    ),
    data: dataOf(measured),
  }
}

function lanesOf(store: StoreName): readonly Lane[] {
  const contender = `node-http-${store}` as const
  return [
    { label: 'first arrivals', contender, shares: store },
    { label: 'duplicates', contender, shares: store, handled: false },
  ]
}
