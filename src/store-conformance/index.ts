/**
 * The conformance suite for stores.
 *
 * @module messaging-webhooks/store-conformance
 */
import '../runtime/supported-node.ts'
import { z } from 'zod'
import { checkOptions, functionLike, textOf, wholeNumberFrom } from '../runtime/check-options.ts'
import type { StoreCapabilities } from '../inbox/store.ts'
import { ADMISSION, DELIVERY } from './delivery.ts'
import { BYTES } from './bytes.ts'
import { ERASING } from './erasing.ts'
import { checkInterleavings } from './interleavings.ts'
import { LISTING } from './listing.ts'
import { RETENTION } from './retention.ts'
import { SENDS } from './sends.ts'
import { MAY_LEAVE_OUT, runOnFreshStore, type ConformanceCase, type ConformanceOptions } from './suite.ts'
import { WORKERS } from './workers.ts'

export type { ConformanceOptions, RetentionDays, StoreUnderTest } from './suite.ts'

const CONCERNS: Readonly<Record<string, readonly ConformanceCase[]>> = {
  admission: ADMISSION,
  delivery: DELIVERY,
  listing: LISTING,
  workers: WORKERS,
  erasing: ERASING,
  sends: SENDS,
  retention: RETENTION,
  bytes: BYTES,
}

const INTERLEAVINGS = 100
const MAX_INTERLEAVINGS = 1_000_000

const optionsSchema = z.strictObject({
  test: functionLike,
  skip: functionLike.optional(),
  makeStore: functionLike,
  capabilities: z.strictObject({
    name: textOf('the name of the store'),
    durable: z.boolean(),
    shared: z.boolean(),
    spoolFolder: z.string().optional(),
  } satisfies Record<keyof StoreCapabilities, z.ZodType>),
  leavesOut: z.array(z.enum(MAY_LEAVE_OUT)).optional(),
  interleavings: wholeNumberFrom(1, MAX_INTERLEAVINGS).optional(),
} satisfies Record<keyof ConformanceOptions, z.ZodType>)

/**
 * Registers the conformance tests of the store contract with your test runner. Each test gets a fresh store from `makeStore`.
 * Skips tests that do not apply to the store, with a reason. Requires the optional peer dependency `fast-check`. Throws an `OptionsError` for an invalid
 * option.
 */
export function storeConformance(options: ConformanceOptions): void {
  checkOptions(optionsSchema, options, 'storeConformance')
  const { test, capabilities, leavesOut = [], interleavings = INTERLEAVINGS } = options
  const lacking: readonly string[] = capabilities.shared ? leavesOut : [...leavesOut, 'workers']
  const { skip = (name, reason) => console.log(`skipped: ${name} (${reason})`) } = options
  for (const [concern, cases] of Object.entries(CONCERNS)) {
    for (const one of cases) {
      const title = `${concern}: ${one.name}`
      if (lacking.includes(concern)) skip(title, `the ${capabilities.name} store has no ${concern}`)
      else test(title, () => runOnFreshStore(options, one))
    }
  }
  test('interleavings: every random sequence of commands is answered as `decide` does', () =>
    checkInterleavings((run) => runOnFreshStore(options, { run }), interleavings))
}
