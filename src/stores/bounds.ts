/** Ranges of settings that all stores share. None of them makes sense at 0 or undefined. */
import { numberAboveZero } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'

/** One hundred years. A longer time is a mistake, and beyond the range of databases. */
export const LONGEST_DAYS = 36_500

export const daysAboveZero = numberAboveZero(LONGEST_DAYS, 'days')
export const millisecondsAboveZero = numberAboveZero(LONGEST_TIMER_MS, 'milliseconds')
