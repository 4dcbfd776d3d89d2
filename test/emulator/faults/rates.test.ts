/** What a user may write as rates, and what is said where it cannot work. */
import { expect, test } from 'vitest'
import { FAULT_NAMES } from '../../../src/emulator/faults/faults.ts'
import { readFaultRates } from '../../../src/emulator/faults/rates.ts'

test('every fault has a rate from 0 to 1', () => {
  expect(readFaultRates(undefined)).toEqual({})
  for (const name of FAULT_NAMES)
    for (const rate of [0, 0.5, 1]) expect(readFaultRates({ [name]: rate })).toEqual({ [name]: rate })
})

test.each([
  [[], /object of rates/],
  ['all', /object of rates/],
  [null, /object of rates/],
  [{ duplicates: 0.1 }, /there is no "duplicates"\. There are: duplicate, reorder, /],
  [{ constructor: 0.1 }, /there is no "constructor"/],
  [{ drop: -0.1 }, /`faults\.drop` is -0\.1; expected a rate from 0 to 1/],
  [{ drop: 1.1 }, /1\.1/],
  [{ drop: Number.NaN }, /NaN/],
  [{ drop: '0.1' }, /expected a rate/],
])('%j is refused', (value, message) => {
  expect(() => readFaultRates(value)).toThrow(message)
  expect(() => readFaultRates(value)).toThrow(expect.objectContaining({ code: 'options_invalid' }))
})

test.each([
  ['a text, which may be a key that slipped', { drop: 'hidden-key' }, '`faults.drop` is a text; expected a rate'],
  ['what cannot be written as text', { drop: { toString: null } }, '`faults.drop` is an object; expected a rate'],
])('of %s only the type is told', (_what, value, message) => {
  expect(() => readFaultRates(value)).toThrow(expect.objectContaining({ code: 'options_invalid' }))
  expect(() => readFaultRates(value)).toThrow(message)
  expect(() => readFaultRates(value)).not.toThrow('hidden-key')
})
