/** Ratios of paired measurements: a machine that slows down slows down both. */

export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

/** `base` over `other`, round by round: for times, how many times as fast the other one is. */
export function ratioOf(base: readonly number[], other: readonly number[]): Spread {
  return spreadOf(other.map((value, round) => (base[round] ?? NaN) / value))
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number): number => sorted[index] ?? NaN
  const middle = (sorted.length - 1) / 2
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    least: at(0),
    most: at(sorted.length - 1),
  }
}
