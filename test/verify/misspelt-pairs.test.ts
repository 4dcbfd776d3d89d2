/** A pair with an unknown field: refused in options, accepted in a row of a database. */
import { createReceiver } from 'messaging-webhooks'
import { createEmulator } from 'messaging-webhooks/emulator'
import { expect, test } from 'vitest'
import { A, send } from '../support/pairs.ts'
import { receiving } from '../support/receiving.ts'

const SECRET = 'SECRET-VALUE-THAT-NO-TEXT-MAY-SHOW'
const MISSPELT = { authkey: SECRET, signingSecret: SECRET }
const NEAR = 'unknown field of a pair. Got "authkey". Did you mean "authKey"?'

test.each([
  ['alone', 'credentials: ', NEAR, { credentials: MISSPELT }],
  ['in a list', 'credentials: ', NEAR, { credentials: [A, MISSPELT] }],
  ['of a project', 'projects["My Shop"]: ', NEAR, { projects: { 'My Shop': MISSPELT } }],
  ['with another name', 'credentials: ', 'Valid: authKey, signingSecret, notAfter', { credentials: { ...A, id: 7 } }],
  ['with an end that is null', 'credentials has ', 'an invalid notAfter', { credentials: { ...A, notAfter: null } }],
])('a pair %s is refused', (_what, where, says, options) => {
  let thrown: unknown
  try {
    void Reflect.apply(createReceiver, undefined, [{ ...options, logger: false }])
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'options_invalid' })
  expect(String(thrown)).toContain(where)
  expect(String(thrown)).toContain(says)
  expect(String(thrown)).not.toContain(SECRET)
})

test('accepts the keys of an emulated project as a pair, including the API key', async () => {
  const emulator = createEmulator()
  const keys = emulator.keys()
  expect(Object.keys(keys)).toContain('apiKey')
  const { url } = await receiving({ credentials: keys })
  expect(await send(url, keys)).toBe(204)
})

class Row {
  readonly id = 7
  readonly authKey = A.authKey
  readonly signingSecret = A.signingSecret
}

test.each([
  ['a row with columns of its own', { id: 7, projectName: 'My Shop', createdAt: new Date(), ...A }],
  ['an object of a class', new Row()],
])('a credentials function may return %s', async (_what, row) => {
  const { url, errors } = await receiving({ credentials: () => row })
  expect(await send(url, A, { project: 'My Shop' })).toBe(204)
  expect(errors).toEqual([])
})

test('reports an end that is null in the answer of a credentials function', async () => {
  // As untyped JavaScript returns it.
  const { url, errors } = await receiving({ credentials: () => ({ ...A, notAfter: null }) as unknown as typeof A })
  expect(await send(url, A, { project: 'My Shop' })).toBe(503)
  expect(errors).toMatchObject([{ code: 'credentials_invalid' }])
})
