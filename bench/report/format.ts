/** Figures as the tables show them. */
import { spreadOf, type Spread } from '../measure/ratios.ts'
import type { Sample } from '../measure/rounds.ts'

export const ratio = ({ median, least, most }: Spread): string =>
  `${median.toFixed(2)} (${least.toFixed(2)}-${most.toFixed(2)})`

export const mebibytes = (bytes: number): string => (bytes / 1_048_576).toFixed(0)

/** The median of one figure over all rounds. */
const middle = (samples: readonly Sample[], of: (sample: Sample) => number): number => spreadOf(samples.map(of)).median

/** The columns that every lane has beside its ratios. */
export const FIGURES_HEAD = ['µs CPU', 'p50 ms', 'p99 ms', 'RSS MiB', 'heap MiB', 'load %'] as const

export const figures = (samples: readonly Sample[]): readonly string[] => [
  middle(samples, (sample) => sample.cpuMicroseconds).toFixed(1),
  middle(samples, (sample) => sample.p50Ms).toFixed(2),
  middle(samples, (sample) => sample.p99Ms).toFixed(2),
  mebibytes(middle(samples, (sample) => sample.rssBytes)),
  mebibytes(middle(samples, (sample) => sample.heapBytes)),
  (100 * middle(samples, (sample) => sample.loadCpuShare)).toFixed(0),
]

export const FIGURES_NOTE =
  'µs CPU: of the whole server process, for one callback. load %: how busy the load was; near 100 it was the limit. heap: before a round, after a collection.'
