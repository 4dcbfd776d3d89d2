/** One question that the benchmark answers. */
import type { RoundsOptions } from '../measure/rounds.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'

export interface Program {
  readonly what: string
  readonly run: (settings: Settings) => Promise<Report>
}

/** The settings in the form that rounds need. Prints progress to the error stream. */
export function roundsOf(settings: Settings, changes: Partial<RoundsOptions> = {}): RoundsOptions {
  const options = { ...settings, ...changes }
  return {
    ...options,
    onRound: (round) => process.stderr.write(`round ${round + 1} of ${options.warmUps + options.rounds}\r`),
  }
}

export function describeRounds({ rounds, warmUps, callbacks, connections }: RoundsOptions): string {
  return (
    `${rounds} interleaved rounds after ${warmUps} of warm-up, ${callbacks} callbacks a round and row, ` +
    `${connections} connections. Ratios: the median of those of each round (least-most).`
  )
}
