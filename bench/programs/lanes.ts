/** For programs that compare a few rows with the first of each group. */
import { ratioOf } from '../measure/ratios.ts'
import type { Measured } from '../measure/rounds.ts'
import { FIGURES_HEAD, figures, ratio } from '../report/format.ts'
import type { Table } from '../report/report.ts'

/** Every row's rate and CPU time beside the first one's. */
export function besideFirst(title: string, measured: readonly Measured[]): Table {
  const [first] = measured
  return {
    head: [title, 'rate', 'CPU cost', ...FIGURES_HEAD],
    rows: measured.map(({ lane, samples }) => [
      lane.label,
      ratio(
        ratioOf(
          first?.samples.map((sample) => sample.microseconds) ?? [],
          samples.map((sample) => sample.microseconds),
        ),
      ),
      // Turned round: how many times the first one's cost this is.
      ratio(
        ratioOf(
          samples.map((sample) => sample.cpuMicroseconds),
          first?.samples.map((sample) => sample.cpuMicroseconds) ?? [],
        ),
      ),
      ...figures(samples),
    ]),
  }
}

export function dataOf(measured: readonly Measured[]): unknown {
  return measured.map(({ lane, samples }) => ({ lane: lane.label, samples }))
}
