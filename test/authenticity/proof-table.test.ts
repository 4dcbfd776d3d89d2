import express from 'express'
import type { ProofPolicy } from 'messaging-webhooks'
import { PROOF_POLICIES } from '../../src/callback.ts'
import { callback, signCallback } from 'messaging-webhooks/testing'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'
import { AUTH_KEY, receiving, SIGNING_SECRET } from '../support/receiving.ts'

const now = (): number => Math.floor(Date.now() / 1_000)

/** What can stand in the header, by what it is worth. */
const HEADERS = {
  holds: (body: string) => [signCallback(body, SIGNING_SECRET)],
  absent: () => [],
  'has a wrong digest': (body: string) => [signCallback(body, 'another secret')],
  'is malformed': () => ['v1=nothing'],
  'came twice': (body: string) => [signCallback(body, SIGNING_SECRET), signCallback(body, SIGNING_SECRET)],
  'is too old': (body: string) => [signCallback(body, SIGNING_SECRET, { timestamp: now() - 310 })],
  'is from the future': (body: string) => [signCallback(body, SIGNING_SECRET, { timestamp: now() + 310 })],
  'is too old and wrong': (body: string) => [signCallback(body, 'another secret', { timestamp: now() - 310 })],
} as const
type Header = keyof typeof HEADERS

const AUTH_KEYS = { holds: AUTH_KEY, absent: undefined, wrong: 'another key' } as const
type AuthKey = keyof typeof AUTH_KEYS

const WRONG: readonly Header[] = ['has a wrong digest', 'is malformed', 'came twice']
const STALE: readonly Header[] = ['is too old', 'is from the future', 'is too old and wrong']
const NO_KEY: readonly AuthKey[] = ['absent', 'wrong']

/** The table, row by row: which headers, which keys, and the policies that take them. */
const ROWS: readonly (readonly [
  headers: readonly Header[],
  keys: readonly AuthKey[],
  takers: readonly ProofPolicy[],
])[] = [
  [['holds'], ['holds'], ['either', 'signature', 'authKey', 'both']],
  [['holds'], NO_KEY, ['either', 'signature']],
  [['absent'], ['holds'], ['either', 'authKey']],
  [WRONG, ['holds'], ['either', 'authKey']],
  [STALE, ['holds'], []],
  [['absent', ...WRONG, ...STALE], NO_KEY, []],
]

const CELLS = ROWS.flatMap(([headers, keys, takers]) =>
  headers.flatMap((header) =>
    keys.flatMap((key) => PROOF_POLICIES.map((policy) => ({ header, key, policy, taken: takers.includes(policy) }))),
  ),
)

describe.each(PROOF_POLICIES)('under %s', (policy) => {
  test.each(CELLS.filter((cell) => cell.policy === policy))(
    'a signature that $header and an authKey that is $key: taken $taken',
    async ({ header, key, taken }) => {
      const { receiver, errors } = await receiving()
      const events: unknown[] = []
      receiver.onAny(({ proof, payload }) => void events.push({ proof, payload }))
      const app = express().use('/status', receiver.middleware('status', { proof: policy }))
      const fields = callback.smsDelivery()
      const body = JSON.stringify({ ...fields, authKey: AUTH_KEYS[key] })
      const request = supertest(app).post('/status').set('content-type', 'application/json')
      const values = HEADERS[header](body)
      // superagent hands a list on to Node, which sends a header for each.
      if (values.length > 0) void request.set({ 'x-service-signature': values })
      const response = await request.send(body)
      await receiver.drain()

      expect(response.status).toBe(taken ? 204 : 401)
      const signed = header === 'holds'
      const keyed = key === 'holds'
      const proof = signed && keyed ? 'both' : signed ? 'signature' : 'authKey'
      expect(events).toEqual(taken ? [{ proof, payload: fields }] : [])
      const codes = errors.map(({ code }) => code)
      if (taken) expect(codes).toEqual(WRONG.includes(header) ? ['signature_ignored'] : [])
      else expect(codes).toHaveLength(1)
    },
  )
})

test.each([
  { offset: 300, taken: true },
  { offset: -300, taken: true },
  { offset: 301, taken: false },
  { offset: -301, taken: false },
])('a signature made $offset s from now is taken: $taken', async ({ offset, taken }) => {
  // The middle of a second: whole seconds are compared.
  const nowSeconds = 1_790_000_000
  const { url, errors } = await receiving({ clock: () => nowSeconds * 1_000 + 400 })
  const body = JSON.stringify(callback.smsDelivery({ timestamp: nowSeconds }))
  const signature = signCallback(body, SIGNING_SECRET, { timestamp: nowSeconds + offset })
  const response = await fetch(url, { method: 'POST', body, headers: { 'x-service-signature': signature } })
  expect(response.status).toBe(taken ? 204 : 401)
  expect(errors.map(({ code }) => code)).toEqual(taken ? [] : ['signature_stale'])
  if (!taken) expect(errors[0]?.message).toContain(`301 s ${offset < 0 ? 'behind' : 'ahead of'} this clock`)
})

test('every reply to what is not authentic is the same, whatever is wrong with it', async () => {
  const { url } = await receiving()
  const replies = new Set<string>()
  for (const name of ['absent', 'has a wrong digest', 'is malformed', ...STALE] as const) {
    const body = JSON.stringify(callback.smsDelivery({ authKey: 'wrong' }))
    const [value] = HEADERS[name](body)
    const headers = value === undefined ? {} : { 'x-service-signature': value }
    const response = await fetch(url, { method: 'POST', body, headers })
    const shown = [...response.headers].filter(([name]) => name !== 'date')
    replies.add(JSON.stringify([response.status, shown, await response.json()]))
  }
  expect(replies.size).toBe(1)
  expect([...replies][0]).toContain('"error":{"code":"not_authentic"')
})
