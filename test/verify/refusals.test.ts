/** The log names one likely cause of a refusal; the answer is the same for all. */
import { callback, signCallback } from 'messaging-webhooks/testing'
import type { ErrorCode, ProofPolicy } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { AUTH_KEY, receiving, SIGNING_SECRET } from '../support/receiving.ts'

interface Refusal {
  readonly what: string
  readonly proof: ProofPolicy
  readonly authKey?: unknown
  readonly signature?: (body: string) => string
  readonly code: ErrorCode
}

const right = (body: string): string => signCallback(body, SIGNING_SECRET)
const wrong = (body: string): string => signCallback(body, 'another secret')

/** hazards/signature-header.test.ts and hazards/auth-key.test.ts have each malformed form of either proof. */
const REFUSALS: readonly Refusal[] = [
  { what: 'a wrong digest', proof: 'either', signature: wrong, code: 'signature_mismatch' },
  { what: 'only an authKey', proof: 'signature', authKey: AUTH_KEY, code: 'signature_required' },
  { what: 'nothing', proof: 'signature', code: 'signature_missing' },
  { what: 'only a signature', proof: 'authKey', signature: right, code: 'auth_key_missing' },
  {
    what: 'a signature and a wrong authKey',
    proof: 'authKey',
    signature: right,
    authKey: 'wrong',
    code: 'auth_key_mismatch',
  },
  { what: 'only a signature', proof: 'both', signature: right, code: 'auth_key_missing' },
  { what: 'only an authKey', proof: 'both', authKey: AUTH_KEY, code: 'signature_required' },
  {
    what: 'an authKey and a wrong digest',
    proof: 'both',
    authKey: AUTH_KEY,
    signature: wrong,
    code: 'signature_mismatch',
  },
]

test.each(REFUSALS)('$what under $proof is $code', async ({ proof, authKey, signature, code }) => {
  const { url, errors } = await receiving({ proof })
  const body = JSON.stringify({ ...callback.smsDelivery(), authKey })
  const headers = signature === undefined ? {} : { 'x-service-signature': signature(body) }
  expect((await fetch(url, { method: 'POST', body, headers })).status).toBe(401)
  expect(errors).toMatchObject([{ name: 'RefusedError', code, status: 401 }])
})

test('every refusal of an unauthentic callback is the same', async () => {
  const { url } = await receiving()
  const now = Math.floor(Date.now() / 1_000)
  const at = (secret: string, timestamp: number) => (body: string) => signCallback(body, secret, { timestamp })
  const replies = new Set<string>()
  for (const signature of [
    undefined,
    wrong,
    () => 'v1=nothing',
    at(SIGNING_SECRET, now - 310),
    at(SIGNING_SECRET, now + 310),
    at('another secret', now - 310),
  ]) {
    const body = JSON.stringify(callback.smsDelivery({ authKey: 'wrong' }))
    const headers = signature === undefined ? {} : { 'x-service-signature': signature(body) }
    const response = await fetch(url, { method: 'POST', body, headers })
    const shown = [...response.headers].filter(([name]) => name !== 'date')
    replies.add(JSON.stringify([response.status, shown, await response.json()]))
  }
  expect(replies.size).toBe(1)
  expect([...replies][0]).toContain('"error":{"code":"not_authentic"')
})
