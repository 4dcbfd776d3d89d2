/** The public surface of `messaging-webhooks/store-conformance`: the suite that every store passes. */
import { ADMISSION } from './admission.ts'
import { BYTES } from './bytes.ts'
import { CLAIMING } from './claiming.ts'
import { DURABILITY } from './durability.ts'
import { checkInterleavings } from './interleavings.ts'
import { LATEST } from './latest.ts'
import { SETTLING } from './settling.ts'
import { runOnFreshStore, type ConformanceCase, type ConformanceOptions } from './suite.ts'

export type { ConformanceOptions, StoreUnderTest } from './suite.ts'

const CONCERNS: Readonly<Record<string, readonly ConformanceCase[]>> = {
  admission: ADMISSION,
  claiming: CLAIMING,
  settling: SETTLING,
  latest: LATEST,
  bytes: BYTES,
  durability: DURABILITY,
}

const INTERLEAVINGS = 100

/**
 * Registers the conformance tests of the store contract with your test runner: each gets a fresh store from `makeStore`. A
 * test that does not apply to the store is skipped, with a reason. The times are the tests' own: a store with another clock
 * must be opened so that it takes each `nowMs` for its now. Needs the optional peer dependency `fast-check`.
 */
export function storeConformance(options: ConformanceOptions): void {
  const { test, makeStore, capabilities, interleavings = INTERLEAVINGS } = options
  const { skip = (name, reason) => console.log(`skipped: ${name} (${reason})`) } = options
  for (const [concern, cases] of Object.entries(CONCERNS)) {
    for (const { name, needs, run } of cases) {
      const title = `${concern}: ${name}`
      if (needs !== undefined && !capabilities.durable) skip(title, `the ${capabilities.name} store is not durable`)
      else if (needs === 'told times' && capabilities.ownClock === true)
        skip(title, `the ${capabilities.name} store has a clock of its own`)
      else test(title, () => runOnFreshStore(makeStore, run))
    }
  }
  test('interleavings: every random sequence of steps agrees with the plain model', () =>
    checkInterleavings(async () => {
      const { store, dispose } = await makeStore()
      const open = await store.open({ onWork() {} })
      return {
        open,
        async close() {
          await open.close()
          await dispose?.()
        },
      }
    }, interleavings))
}
