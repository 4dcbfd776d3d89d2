/** Pairs that are not plain objects: the receiver uses the values that it checked. */
import type { CredentialPair } from 'messaging-webhooks'
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { AUTH_KEY, receiving, SIGNING_SECRET } from '../support/receiving.ts'
import { digestOf, nowSeconds, reportText, request } from '../support/wire.ts'

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
