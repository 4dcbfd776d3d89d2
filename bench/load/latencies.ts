/** The distribution of answer times. */

/** Where it is read, in milliseconds. */
export const SLOWER_THAN_MS = [1, 2, 5, 10, 20, 50, 100] as const

export interface Latencies {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
  /** The share of answers that took longer than each of `SLOWER_THAN_MS`. */
  readonly slower: readonly number[]
}

/** `sorted`: in ascending order. */
export function latenciesOf(sorted: Float64Array): Latencies {
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? NaN
  return {
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    p999Ms: at(0.999),
    maxMs: at(1),
    slower: SLOWER_THAN_MS.map((ms) => sorted.filter((latency) => latency > ms).length / sorted.length),
  }
}
