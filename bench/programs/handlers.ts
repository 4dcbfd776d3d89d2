/** How does the cost grow with the number of attached handlers? */
import { runRounds } from '../measure/rounds.ts'
import { FIGURES_NOTE } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const HANDLERS = [1, 10, 100] as const

export async function runHandlers(settings: Settings): Promise<Report> {
  const options = roundsOf(settings)
  const measured = await runRounds(
    HANDLERS.map((handlers) => ({
      label: handlers === 1 ? '1 handler' : `${handlers} handlers`,
      contender: 'node-http-memory',
      start: { handlers },
    })),
    options,
  )
  return {
    title: 'Cost against the number of handlers of an event',
    notes: [
      describeRounds(options),
      'The memory store in node:http; each handler is called for each event.',
      FIGURES_NOTE,
    ],
    tables: [besideFirst('handlers', measured)],
    data: dataOf(measured),
  }
}
