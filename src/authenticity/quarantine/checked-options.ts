/** Checks what the methods of the quarantine are given. */
import { z } from 'zod'
import { checkOptions, numberFrom, wholeNumberFrom } from '../../check-options.ts'
import type { ListOptions, ReverifyOptions } from './surface.ts'

const MOST_A_PAGE = 100_000
/** A clock that is further off is not worth a word of seconds. */
const FARTHEST_SECONDS = 10_000_000_000

const abortSignal = z.custom<AbortSignal>(
  // Some test runners have a class of their own for it.
  (value) => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
  'expected an AbortSignal',
)

const reverifyOptions = z.strictObject({
  clockOffsetSeconds: numberFrom(-FARTHEST_SECONDS, FARTHEST_SECONDS, 'seconds').optional(),
  signal: abortSignal.optional(),
})

const listOptions = z.strictObject({
  after: z
    .custom<string>((value) => typeof value === 'string' && /^\d+$/.test(value), 'expected the `next` of a page')
    .optional(),
  limit: wholeNumberFrom(1, MOST_A_PAGE).optional(),
  reveal: z.boolean().optional(),
})

export function checkReverify(options: ReverifyOptions | undefined) {
  return checkOptions(reverifyOptions, options, 'reverify')
}

export function checkList(options: ListOptions | undefined) {
  return checkOptions(listOptions, options, 'list')
}
