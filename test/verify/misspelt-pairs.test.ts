/** A pair with an unknown field: refused in options; in a row of a database only if it is misspelt. */
import { createReceiver } from 'messaging-webhooks'
import { createEmulator } from 'messaging-webhooks/emulator'
import { describe, expect, test } from 'vitest'
import { A, send } from '../support/pairs.ts'
import { receiving } from '../support/receiving.ts'

/** An error may show the names of a pair's fields. */
const SECRET = 'SECRET-VALUE-THAT-NO-TEXT-MAY-SHOW'

describe.each([
  [
    'another case',
    { authkey: SECRET, signingSecret: SECRET },
    'authkey is not a field of a pair (did you mean authKey?)',
  ],
  ['a misspelt end', { ...A, notAftr: 1 }, 'notAftr is not a field of a pair (did you mean notAfter?)'],
  ['another word', { ...A, secret: SECRET }, 'secret is not a field of a pair (did you mean signingSecret?)'],
  ['a name of its own', { ...A, id: 7 }, 'id is not a field of a pair; there are authKey, signingSecret, notAfter'],
  ['an end that is null', { ...A, notAfter: null }, 'an invalid notAfter; expected a Date, or milliseconds'],
])('a pair with %s', (_what, pair, says) => {
  test.each([
    ['alone', 'credentials', { credentials: pair }],
    ['in a list', 'credentials', { credentials: [A, pair] }],
    ['of a project', 'projects["My Shop"]', { projects: { 'My Shop': pair } }],
  ])('is refused %s', (_where, where, options) => {
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

describe('a credentials function may return', () => {
  test.each([
    ['a row with columns of its own', { id: 7, projectName: 'My Shop', createdAt: new Date(), ...A }],
    ['a row that refers to another one', { signingSecret: A.signingSecret, authKeyId: 7 }],
    ['an object of a class', new Row()],
  ])('%s', async (_what, row) => {
    const { url, errors } = await receiving({ credentials: () => row })
    expect(await send(url, A, { project: 'My Shop' })).toBe(204)
    expect(errors).toEqual([])
  })

  test.each([
    ['an end by another name', { ...A, not_after: Date.now() - 1 }, 'not_after looks like notAfter, which is missing'],
    ['a key by another name', { signingSecret: A.signingSecret, authkey: SECRET }, 'authkey looks like authKey'],
    ['an end that is null', { ...A, notAfter: null }, 'an invalid notAfter'],
  ])('and not %s, which is reported and answered 503', async (_what, row, says) => {
    // As untyped JavaScript returns it.
    const { url, errors } = await receiving({ credentials: () => row as typeof A })
    expect(await send(url, A, { project: 'My Shop' })).toBe(503)
    expect(errors).toMatchObject([{ code: 'credentials_invalid' }])
    expect(errors[0]?.message).toContain(says)
    expect(errors[0]?.message).not.toContain(SECRET)
  })
})
