/**
 * Signatures as the service creates them, and a real receiver. The digests come from OpenSSL:
 * `(printf '%s.' "$t"; cat body) | openssl dgst -sha256 -hmac "$secret"`.
 */
import { expect, test } from 'vitest'
import { serve } from '../support/hazard.ts'
import { vectors } from '../support/vectors.ts'
import { request } from '../support/wire.ts'

const NOW = 1_760_000_000

test.each(vectors.signature)('$name', async ({ signingSecret, t, bodyBase64, v1 }) => {
  const { url, dispatched, receiver } = await serve({ credentials: { signingSecret }, clock: () => NOW * 1_000 })
  const body = Buffer.from(bodyBase64, 'base64')
  const post = async (signature: string, sent = body): Promise<number> =>
    (await request(url, { body: sent, headers: { 'x-service-signature': signature } })).status
  const lastDigit = v1.endsWith('0') ? '1' : '0'
  // A wrong vector fails: one digit, one second and one byte are enough.
  expect(await post(`t=${t},v1=${v1.slice(0, -1)}${lastDigit}`)).toBe(401)
  expect(await post(`t=${t + 1},v1=${v1}`)).toBe(401)
  expect(await post(`t=${t},v1=${v1}`, Buffer.concat([body, Buffer.of(0x20)]))).toBe(401)
  expect(await post(`t=${t},v1=${v1}`)).toBe(204)
  await receiver.drain()
  expect(dispatched).toMatchObject([{ proof: 'signature' }])
  expect(dispatched[0]?.raw).toEqual(body)
})
