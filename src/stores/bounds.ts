/** Ranges of settings that all stores share. 0 is invalid for each. */
import { numberAboveZero } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'

/** One hundred years. Databases cannot represent much longer times. */
export const LONGEST_DAYS = 36_500

export const daysAboveZero = numberAboveZero(LONGEST_DAYS, 'days')
export const millisecondsAboveZero = numberAboveZero(LONGEST_TIMER_MS, 'milliseconds')
