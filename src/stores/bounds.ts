/** The ranges of what every store asks for: at 0, or where a variable was not set, none of them means anything. */
import { numberAboveZero } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'

/** A hundred years: what is longer is a mistake, and beyond what databases take for a time. */
export const LONGEST_DAYS = 36_500

export const daysAboveZero = numberAboveZero(LONGEST_DAYS, 'days')
export const millisecondsAboveZero = numberAboveZero(LONGEST_TIMER_MS, 'milliseconds')
