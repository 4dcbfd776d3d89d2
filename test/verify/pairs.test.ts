/** Pairs with an unknown field, and pairs that are not plain objects: the receiver uses the values that it checked. */
import { createReceiver, type CredentialPair } from 'messaging-webhooks'
import { createEmulator } from 'messaging-webhooks/emulator'
import { expect, test, describe } from 'vitest'
import { callback } from 'messaging-webhooks/testing'
import { A, send } from '../support/pairs.ts'
import { receiving, AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'
import { digestOf, nowSeconds, reportText, request } from '../support/wire.ts'

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

test('a credentials function may return a row with columns of its own', async () => {
  const row = { id: 7, projectName: 'My Shop', createdAt: new Date(), ...A }
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

/** A configuration that reads from the environment. */
class Pair implements CredentialPair {
  readonly #signingSecret: unknown

  constructor(signingSecret: unknown) {
    this.#signingSecret = signingSecret
  }

  get signingSecret(): string {
    return this.#signingSecret as string
  }
}

/** Returns these values one after another, then repeats the last. */
function changing(...said: readonly unknown[]): CredentialPair {
  let reads = 0
  return {
    get signingSecret() {
      reads += 1
      return said[Math.min(reads, said.length) - 1] as string
    },
  }
}

async function postForged(url: string, secret: string): Promise<number> {
  const body = reportText()
  const t = nowSeconds()
  const headers = { 'x-service-signature': `t=${t},v1=${digestOf(t, body, secret)}` }
  return (await request(url, { body, headers })).status
}

describe.each<readonly [string, () => CredentialPair]>([
  ['an empty secret that a getter of its class gives', () => new Pair('')],
  ['an empty secret that it inherits', () => Object.create({ signingSecret: '' }) as CredentialPair],
  ['a secret of a class that is a number', () => new Pair(7)],
  ['a secret of a class that is null', () => new Pair(null)],
  [
    'a secret that throws',
    () => ({
      get signingSecret(): string {
        throw new Error(SIGNING_SECRET)
      },
    }),
  ],
])('%s', (_what, pair) => {
  test('is refused in options', () => {
    let thrown: unknown
    try {
      createReceiver({ credentials: pair(), logger: false })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code: 'options_invalid' })
    expect(String(thrown)).not.toContain(SIGNING_SECRET)
  })

  test('is refused from a credentials function', async () => {
    const { url, errors } = await receiving({ credentials: () => pair() })
    expect(await postForged(url, '')).toBe(503)
    expect(errors).toMatchObject([{ code: 'credentials_invalid' }])
  })
})

test('uses the checked values of a pair that changes between reads', async () => {
  const { url } = await receiving({ credentials: changing(SIGNING_SECRET, '') })
  expect(await postForged(url, '')).toBe(401)
  expect(await postForged(url, SIGNING_SECRET)).toBe(204)
})

test('a pair of a class works like any other', async () => {
  const { url } = await receiving({ credentials: new Pair(SIGNING_SECRET) })
  expect(await postForged(url, SIGNING_SECRET)).toBe(204)
})

test.each<readonly [string, (pair: { authKey?: unknown }) => unknown]>([
  ['taken out of it', (pair) => Reflect.deleteProperty(pair, 'authKey')],
  ['no text any more', (pair) => void (pair.authKey = 7)],
  ['not to be read any more', (pair) => void Object.defineProperty(pair, 'authKey', { get: () => expect.fail() })],
])('a key that is %s after the receiver has read it stays out of error reports', async (_what, change) => {
  const pair = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
  const { receiver, url } = await receiving({ credentials: pair, retry: { attempts: 1 } })
  change(pair)
  receiver.onAny(() => {
    throw new Error(`It said ${AUTH_KEY}.`)
  })
  const body = JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY }))
  expect((await request(url, { body })).status).toBe(204)
  expect(await receiver.drain({ deadlineMs: 2_000 })).toBe(true)
  const { items } = await receiver.deadLetters.list()
  expect(items.map(({ error }) => error)).toEqual([expect.stringContaining('It said [redacted].')])
})
