/** Readers of arguments; commander shows what they throw in one line. */
import { InvalidArgumentError } from 'commander'

/** For a whole number within a range, both ends included. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : NaN
    if (!(number >= least && number <= most))
      throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`)
    return number
  }
}

/** For a number above zero. */
export function positiveNumber(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  if (!(number > 0)) throw new InvalidArgumentError('Expected a number above 0.')
  return number
}

/** Collects an option that may be given several times. */
export function collected(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}
