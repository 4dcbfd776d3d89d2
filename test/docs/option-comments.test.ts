/** The unit, range and default that a comment states match the schema; a failure shows how the comment must end. */
import { describe, expect, test } from 'vitest'
import { keysOf } from '../../src/runtime/values.ts'
import { OPTIONS, STORE_OPTIONS, storeOptionsOf } from '../../docs/options.ts'

test.each(OPTIONS)('the comment of $name', ({ comment, ending }) => {
  expect(comment.endsWith(ending) ? ending : comment).toBe(ending)
})

describe('the comment of a store’s setting names its default', () => {
  const UNITS: Readonly<Record<string, number>> = { MiB: 1024 * 1024, days: 1, day: 1, ms: 1 }

  test.each(keysOf(STORE_OPTIONS))('%s', (store) => {
    const options = storeOptionsOf(store)
    expect(options.length).toBeGreaterThan(3)
    for (const { name, stated, default: value } of options) {
      const [number = '', unit] = stated.split(' ')
      expect(Number(number.replaceAll(',', '')) * (unit === undefined ? 1 : (UNITS[unit] ?? NaN)), name).toBe(value)
    }
  })
})
