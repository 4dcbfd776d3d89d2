/** Readers of arguments; commander shows what they throw in one line. */
import { InvalidArgumentError } from 'commander'
import { readFaultRates, type FaultRates } from '../emulator/faults/rates.ts'
import { OptionsError } from '../errors.ts'
import { CliError } from './exit-codes.ts'

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

/** Faults as `name` or `name=rate`. Throws a `CliError` for one that does not exist, or for what is no rate. */
export function readFaults(given: readonly string[]): FaultRates {
  try {
    return readFaultRates(
      Object.fromEntries(
        given.map((fault) => {
          const [name = '', rate = '1'] = fault.split('=')
          return [name, rate.trim() === '' ? NaN : Number(rate)]
        }),
      ),
    )
  } catch (error) {
    if (error instanceof OptionsError)
      throw new CliError(
        'usage',
        (error.detail ?? '').replaceAll('`', '').replace('faults', '--fault'),
        '--list prints all faults.',
      )
    throw error
  }
}
