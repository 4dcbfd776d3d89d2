/** How does the cost grow with the number of connections? */
import { runRounds, type Lane } from '../measure/rounds.ts'
import { FIGURES_NOTE } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const CONNECTIONS = [32, 1, 8, 100, 1_000] as const
const CONTENDERS = ['node-http-verified', 'node-http-memory'] as const

export async function runConnections(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const measured = await runRounds(
    CONTENDERS.flatMap((contender) =>
      CONNECTIONS.map((connections): Lane => {
        return {
          label: connections === 1 ? '1 connection' : `${connections} connections`,
          contender,
          shares: contender,
          connections,
          fresh: true,
        }
      }),
    ),
    options,
  )
  return {
    title: 'Cost against the number of connections',
    notes: [describeRounds(options), FIGURES_NOTE],
    tables: CONTENDERS.map((contender) =>
      besideFirst(
        contender,
        measured.filter(({ lane }) => lane.contender === contender),
      ),
    ),
    data: dataOf(measured),
  }
}
