/** The table of faults is complete and speaks to people. */
import { FAULT_NAMES, FAULTS } from 'messaging-webhooks/emulator'
import { expect, test } from 'vitest'

test('every fault that a callback is known to meet has a row', () => {
  expect([...FAULT_NAMES].sort()).toEqual(
    [
      ...['duplicate', 'reorder', 'delay', 'clockSkew', 'drop', 'tamperedByte', 'staleSignature', 'oldKey', 'burst'],
      ...['chunkedBody', 'slowBody', 'connectionReset', 'halfClose', 'headerTwice', 'nulText', 'badUtf8'],
      ...['noSignature', 'noAuthKey'],
      ...['behind300', 'ahead300', 'behind301', 'ahead301'],
    ].sort(),
  )
})

test('each says in a sentence what it does', () => {
  for (const name of FAULT_NAMES) expect(FAULTS[name].what).toMatch(/^[A-Z].*\.$/)
})

test('what is refused is refused for its proof, and what does not arrive is lost on the way', () => {
  const of = (taken: string) => FAULT_NAMES.filter((name) => FAULTS[name].taken === taken)
  expect(of('no')).toEqual(['behind301', 'ahead301', 'staleSignature', 'tamperedByte', 'oldKey'])
  expect(of('does not arrive')).toEqual(['drop', 'connectionReset'])
  expect(of('by its authKey')).toEqual(['headerTwice', 'noSignature'])
  expect(of('by its signature')).toEqual(['noAuthKey'])
})
