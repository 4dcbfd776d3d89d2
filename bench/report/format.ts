/** Formats figures for the tables. */
import { spreadOf, type Spread } from '../measure/ratios.ts'
import type { Measured, Sample } from '../measure/rounds.ts'

/** Empty if one of the two values is unknown. */
export const ratio = ({ median, least, most }: Spread): string =>
  Number.isNaN(median) ? '' : `${median.toFixed(2)} (${least.toFixed(2)}-${most.toFixed(2)})`

export const mebibytes = (bytes: number): string => (bytes / 1_048_576).toFixed(0)

/** The median of one figure over all rounds. */
export const middle = (samples: readonly Sample[], of: (sample: Sample) => number): number =>
  spreadOf(samples.map(of)).median

interface Columns {
  readonly head: readonly string[]
  readonly of: (samples: readonly Sample[]) => readonly string[]
}

/** The columns of a row besides its ratios; includes the database column only if one of the rows has that figure. */
export function figuresFor(measured: readonly Pick<Measured, 'samples'>[]): Columns {
  const withDatabase = hasDatabase(measured)
  return {
    head: ['µs CPU', ...(withDatabase ? ['µs DB'] : []), 'p50 ms', 'p99 ms', 'RSS MiB', 'heap MiB', 'load %'],
    of: (samples) => [
      middle(samples, (sample) => sample.cpuMicroseconds).toFixed(1),
      ...(withDatabase ? [databaseFigure(samples)] : []),
      middle(samples, (sample) => sample.p50Ms).toFixed(2),
      middle(samples, (sample) => sample.p99Ms).toFixed(2),
      mebibytes(middle(samples, (sample) => sample.rssBytes)),
      mebibytes(middle(samples, (sample) => sample.heapBytes)),
      (100 * middle(samples, (sample) => sample.loadCpuShare)).toFixed(0),
    ],
  }
}

/** Whether the CPU time of a database server is known for any of the rows. */
export function hasDatabase(measured: readonly Pick<Measured, 'samples'>[]): boolean {
  return measured.some(({ samples }) => samples.some((sample) => sample.databaseMicroseconds !== undefined))
}

function databaseFigure(samples: readonly Sample[]): string {
  const microseconds = middle(samples, (sample) => sample.databaseMicroseconds ?? NaN)
  return Number.isNaN(microseconds) ? '' : microseconds.toFixed(1)
}

export const DATABASE_NOTE =
  'µs DB: CPU time of the whole database server, for one callback, other users of it included; empty if it cannot be read (Postgres on another machine, or a system other than Linux).'

export const FIGURES_NOTE =
  'µs CPU: of the whole server process, for one callback. load %: how busy the load was; near 100 it was the limit. heap: before a round, after a collection.'
