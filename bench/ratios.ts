/** Ratios of paired measurements: a machine that is slower for a while is slower for both. */

export interface Ratio {
  readonly median: number
  readonly least: number
  readonly most: number
}

/** How fast `contender` was beside `base`, round by round: 0.5 is half as fast. Both are times. */
export function ratioOf(base: readonly number[], contender: readonly number[]): Ratio {
  const ratios = contender.map((time, round) => (base[round] ?? NaN) / time).toSorted((a, b) => a - b)
  const at = (index: number): number => ratios[index] ?? NaN
  const middle = (ratios.length - 1) / 2
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    least: at(0),
    most: at(ratios.length - 1),
  }
}
