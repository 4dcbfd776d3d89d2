/** How does the cost grow with the size of a body? Beside the limit, whose cost grows too. */
import { runRounds, type Lane } from '../measure/rounds.ts'
import { FIGURES_NOTE } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const KIB = 1_024
const SIZES = [300, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 255 * KIB] as const
/** A round of the largest is some 25 MiB. */
const MOST_CALLBACKS = 100
const CONTENDERS = ['node-http-verified', 'node-http-memory'] as const

export async function runBodySize(settings: Settings): Promise<Report> {
  const options = roundsOf(settings, { callbacks: Math.min(settings.callbacks, MOST_CALLBACKS) })
  const lanesFor = (bodyBytes: number): readonly Lane[] =>
    CONTENDERS.map((contender) => ({
      label: contender,
      contender,
      reports: { bodyBytes },
    }))
  const tables = []
  const data: Record<string, unknown> = {}
  for (const size of SIZES) {
    const measured = await runRounds(lanesFor(size), options)
    tables.push(besideFirst(`${size} bytes`, measured))
    data[size] = dataOf(measured)
  }
  return {
    title: 'Cost against the size of the body',
    notes: [describeRounds(options), FIGURES_NOTE],
    tables,
    data,
  }
}
