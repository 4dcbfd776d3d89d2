/** Shared by programs that compare a few rows with the first row of each group. */
import { ratioOf } from '../measure/ratios.ts'
import type { Measured, Sample } from '../measure/rounds.ts'
import { figuresFor, hasDatabase, ratio } from '../report/format.ts'
import type { Table } from '../report/report.ts'

/**
 * Every row's rate (at a fixed rate: p99) and CPU time relative to the first row; the database's CPU time too, where it is known.
 */
export function besideFirst(title: string, measured: readonly Measured[]): Table {
  const first = measured[0]?.samples ?? []
  const isRateFixed = measured[0]?.lane.rate !== undefined
  const withDatabase = hasDatabase(measured)
  const figures = figuresFor(measured)
  // Inverted: a multiple of the first row's cost.
  const cost = (samples: readonly Sample[], of: (sample: Sample) => number): string =>
    ratio(ratioOf(samples.map(of), first.map(of)))
  return {
    head: [title, isRateFixed ? 'p99' : 'rate', 'CPU cost', ...(withDatabase ? ['DB cost'] : []), ...figures.head],
    rows: measured.map(({ lane, samples }) => [
      lane.label,
      isRateFixed
        ? cost(samples, (sample) => sample.p99Ms)
        : ratio(
            ratioOf(
              first.map((sample) => sample.microseconds),
              samples.map((sample) => sample.microseconds),
            ),
          ),
      cost(samples, (sample) => sample.cpuMicroseconds),
      ...(withDatabase ? [cost(samples, (sample) => sample.databaseMicroseconds ?? NaN)] : []),
      ...figures.of(samples),
    ]),
  }
}

export function dataOf(measured: readonly Measured[]): unknown {
  return measured.map(({ lane, samples }) => ({ lane: lane.label, samples }))
}
