/** How does the cost grow with the size of a body? The limit's cost grows too and is shown next to it. */
import { runRounds, type Lane } from '../measure/rounds.ts'
import { FIGURES_NOTE } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

const KIB = 1_024
const SIZES = [300, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 255 * KIB] as const
/** Memory that the load holds in one round. */
const MAX_BYTES = 64 * KIB * KIB
/** Minimum number of large callbacks in a round: a server runs compiled code after this many. */
const MIN_WARM_UPS = 2_000
const CONTENDERS = ['node-http-verified', 'node-http-memory'] as const

export async function runBodySize(settings: Settings): Promise<Report> {
  const lanesFor = (bodyBytes: number): readonly Lane[] =>
    CONTENDERS.map((contender) => ({
      label: contender,
      contender,
      reports: { bodyBytes },
    }))
  const tables = []
  const data: Record<string, unknown> = {}
  for (const size of SIZES) {
    const callbacks = Math.min(settings.callbacks, Math.floor(MAX_BYTES / size))
    const warmUps = settings.quick ? settings.warmUps : Math.max(settings.warmUps, Math.ceil(MIN_WARM_UPS / callbacks))
    const measured = await runRounds(lanesFor(size), roundsOf(settings, { callbacks, warmUps }))
    tables.push(besideFirst(`${size} bytes`, measured))
    data[size] = dataOf(measured)
  }
  return {
    title: 'Cost against the size of the body',
    notes: [
      describeRounds(settings),
      `Of large bodies fewer, at most ${MAX_BYTES / KIB / KIB} MiB a round, and more rounds of warm-up.`,
      FIGURES_NOTE,
    ],
    tables,
    data,
  }
}
