/** Is this checkout faster than another one? Compares before and after a change in one run. */
import { CONTENDERS, contenderNames } from '../contenders/table.ts'
import { runRounds } from '../measure/rounds.ts'
import { FIGURES_NOTE } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

export async function runAgainst(settings: Settings): Promise<Report> {
  const { checkout, only = ['node-http-memory'], rate } = settings
  if (checkout === undefined) throw new Error('Say where the other checkout is, built: --checkout …')
  const options = roundsOf(settings)
  const names = contenderNames(only)
  const measured = await runRounds(
    names.flatMap((contender) => [
      { label: 'the other checkout', contender, checkout, ...(rate !== undefined && { rate }) },
      { label: 'this one', contender, ...(rate !== undefined && { rate }) },
    ]),
    options,
  )
  return {
    title: 'This checkout beside another one',
    notes: [describeRounds(options), FIGURES_NOTE],
    tables: names.map((name) =>
      besideFirst(
        CONTENDERS[name].label,
        measured.filter(({ lane }) => lane.contender === name),
      ),
    ),
    data: dataOf(measured),
  }
}
