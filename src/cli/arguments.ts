/** Parsers of arguments. commander prints the errors that they throw. */
import { InvalidArgumentError, Option } from 'commander'
import type { z } from 'zod'
import { OptionsError } from '../public/errors.ts'
import { checkOptions } from '../runtime/check-options.ts'
import { CliError } from './exit-codes.ts'

/** Maximum timeout of an answer. */
export const LONGEST_TIMEOUT_MS = 600_000

/** Parses a whole number within a range, both ends included. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : NaN
    if (!(number >= least && number <= most))
      throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`)
    return number
  }
}

export function positiveNumber(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  if (!(number > 0)) throw new InvalidArgumentError('Expected a number above 0.')
  return number
}

export function timeOf(text: string): Date {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('Expected a time such as 2026-01-31T12:00:00Z.')
  return time
}

/** A repeatable option with a list of allowed words. */
export function severalOf(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, `${description}: ${words.join(', ')}`).argParser(
    (value: string, previous: readonly string[] | undefined) => {
      if (!words.includes(value)) throw new InvalidArgumentError(`Expected one of ${words.join(', ')}.`)
      return [...(previous ?? []), value]
    },
  )
}

/** Collects the values of a repeatable option. */
export function collected(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value]
}

/** Parses faults as `name` or `name=rate`, with the emulator's schema. `where` is the flag. */
export function readRates<T extends z.ZodType>(schema: T, given: readonly string[], where: string): z.output<T> {
  const rates = given.map((fault) => {
    const [name = '', rate = '1'] = fault.split('=')
    return [name, rate.trim() === '' ? NaN : Number(rate)]
  })
  try {
    return checkOptions(schema, Object.fromEntries(rates), where)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    throw new CliError(
      'usage',
      error.detail ?? '',
      'Example: name=0.05 for one in twenty. `trigger --list` prints the faults.',
    )
  }
}
