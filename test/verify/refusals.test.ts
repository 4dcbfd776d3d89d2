/** The log names one likely cause of a refusal. */
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

const REFUSALS: readonly Refusal[] = [
  { what: 'no proof at all', proof: 'either', code: 'signature_missing' },
  { what: 'a wrong authKey alone', proof: 'either', authKey: 'wrong', code: 'auth_key_mismatch' },
  { what: 'an authKey in a list', proof: 'either', authKey: [AUTH_KEY], code: 'auth_key_malformed' },
  { what: 'an empty authKey', proof: 'either', authKey: '', code: 'auth_key_malformed' },
  { what: 'a wrong digest', proof: 'either', signature: wrong, code: 'signature_mismatch' },
  { what: 'a malformed header', proof: 'either', signature: () => 't=1', code: 'signature_malformed' },
  {
    what: 'a time in milliseconds',
    proof: 'either',
    signature: () => `t=${Date.now()},v1=0`,
    code: 'signature_milliseconds',
  },
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
