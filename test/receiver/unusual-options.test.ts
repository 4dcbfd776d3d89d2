/** Options of an unusual kind work, or are rejected without being quoted. */
import { createReceiver, memoryStore, OptionsError } from 'messaging-webhooks'
import { receiverOptions } from '../../src/receiver/options.ts'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'

type Given = Parameters<typeof createReceiver>[0]

const pair = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }

function withoutPrototype<T extends object>(fields: T): T {
  return Object.assign<T, T>(Object.create(null) as T, fields)
}

/** The code that `createReceiver` throws. */
function refusal(options: object): unknown {
  try {
    createReceiver(options as Given)
  } catch (error) {
    if (!(error instanceof OptionsError)) return error
    expect(`${error.message} ${String(error.cause)}`).not.toContain(SIGNING_SECRET)
    return error.code
  }
  return 'nothing'
}

const NAMES = Object.keys(receiverOptions)

describe.each(NAMES)('%s', (name) => {
  const others = name === 'credentials' || name === 'projects' ? {} : { credentials: pair }

  test.each<readonly [string, value: unknown]>([
    ['a symbol', Symbol(SIGNING_SECRET)],
    ['not a number', Number.NaN],
    // All fields of these options are optional, so a promise looks like empty options.
    ...(['ordering', 'retry', 'schemas'].includes(name) ? [] : ([['a promise', Promise.resolve(pair)]] as const)),
  ])('rejects %s', (_what, value) => {
    expect(refusal({ ...others, [name]: value })).toBe('options_invalid')
  })
})

test.each<readonly [string, () => Given]>([
  ['options without a prototype', () => withoutPrototype({ credentials: withoutPrototype(pair) })],
  ['projects without a prototype', () => ({ projects: withoutPrototype({ 'My Shop': withoutPrototype(pair) }) })],
  [
    'networks without a prototype',
    () => ({ credentials: pair, networks: withoutPrototype({ 'carrier-b': 'carrierB' as const }) }),
  ],
  [
    'frozen options',
    () => Object.freeze({ credentials: Object.freeze([Object.freeze({ ...pair })]), networks: Object.freeze({}) }),
  ],
  [
    'proxies that pass everything on',
    () => new Proxy({ credentials: new Proxy([new Proxy({ ...pair }, {})], {}), store: memoryStore() }, {}),
  ],
])('%s work', async (_what, options) => {
  const given = options()
  const { receiver, url } = await receiving(given)
  const types: string[] = []
  receiver.onAny(({ type }) => void types.push(type))
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  await receiver.drain()
  expect(types).toEqual(['message.delivered'])
})

test('networks and projects keep their values from when the receiver was created', async () => {
  const networks: Record<string, 'carrierA' | 'carrierB'> = { 'carrier-b': 'carrierB' }
  const projects: Record<string, typeof pair> = { 'My Shop': pair }
  const { receiver, url } = await receiving({ projects, networks })
  delete projects['My Shop']
  networks['carrier-b'] = 'carrierA'
  const carriers: unknown[] = []
  receiver.on('message.*', ({ carrier }) => void carriers.push(carrier))
  expect((await post(url, callback.smsDelivery({ network: 'carrier-b', status: 'delivered' }))).status).toBe(204)
  await receiver.drain()
  expect(carriers).toEqual(['carrierB'])
})
