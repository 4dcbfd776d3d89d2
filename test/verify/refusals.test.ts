/**
 * The answer is the same for all refusals, and the log names the kind of the URL and what the body names;
 * vectors/receiver.test.ts has the reason of each under every policy.
 */
import { RefusedError } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { logging } from '../support/logging.ts'
import {
  AUTH_KEY,
  CREDENTIALS,
  post,
  receiving,
  SIGNING_SECRET,
  type Mount,
  type SomeOptions,
} from '../support/receiving.ts'

const wrong = (body: string): string => signCallback(body, 'another secret')

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

describe('a refusal carries the kind of the URL, and the project and message id that the body names', () => {
  const sms = callback.smsDelivery({ project: 'Shop', messageId: 'm-1' })
  const named = { project: 'Shop', messageId: 'm-1' }
  const unsigned = { 'x-service-signature': wrong('') }
  interface Case {
    readonly what: string
    readonly code?: string
    readonly unverified?: Readonly<Record<string, string>>
    readonly body?: object
    readonly options?: SomeOptions
    readonly mount?: Mount
  }

  test.each<Case>([
    { what: 'a wrong signature' },
    { what: 'at a URL without a kind', mount: {} },
    { what: 'a chat-app report', body: { statuses: { message_id: 'c-1' } }, unverified: { messageId: 'c-1' } },
    { what: 'an id that is a number', body: { messageId: 17 }, unverified: { messageId: '17' } },
    { what: 'an unknown project', code: 'project_unknown', options: { projects: { Other: CREDENTIALS } } },
    { what: 'a long name', body: { project: 'x'.repeat(200) }, unverified: { project: 'x'.repeat(100) } },
    { what: 'no name', body: [], unverified: {} },
    { what: 'a body that is too large', code: 'body_too_large', unverified: {}, options: { maxBodyBytes: 10 } },
  ])('$what', async ({ code = 'signature_mismatch', unverified = named, body = sms, options, mount }) => {
    const { kind } = mount ?? { kind: 'status' }
    const { logger, of } = logging()
    const { url, errors } = await receiving({ ...options, logger }, { kind })
    const response = await post(url, JSON.stringify(body), { headers: unsigned })
    expect(response.text).not.toContain('m-1')
    expect(errors.map((error) => error instanceof RefusedError && [error.code, error.kind, error.unverified])).toEqual([
      [code, kind, unverified],
    ])
    const [line] = of(code)
    expect(line?.fields).toMatchObject({ kind: kind ?? 'any', unverified })
    expect(line?.text).toContain(kind === undefined ? 'The URL has no kind' : 'The URL is of kind `status`')
    for (const name of Object.values(unverified)) expect(line?.text).toContain(name)
    if (Object.keys(unverified).length > 0) expect(line?.text).toContain('(unverified)')
  })

  test('a project that is unknown because the body names none', async () => {
    const { url, errors } = await receiving({ credentials: () => undefined }, { kind: 'status' })
    await post(url, '{}')
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('The body names no project.')])
  })

  test('a store that fails', async () => {
    const { receiver, url, errors } = await receiving({}, { kind: 'status' })
    await receiver.close()
    await post(url, sms)
    expect(errors).toMatchObject([{ code: 'receiver_closed', kind: 'status', unverified: named }])
  })

  test.each([
    ['a live key', AUTH_KEY],
    ['a live secret', SIGNING_SECRET],
    ['the key in the body, which may have been live before a rotation', 'the-previous-auth-key'],
  ])('but no key that it quotes: %s', async (_what, secret) => {
    const { logger, lines } = logging()
    const { url, errors } = await receiving({ logger, proof: 'signature' }, { kind: 'status' })
    const body = { authKey: 'the-previous-auth-key', project: `of ${secret}`, messageId: secret }
    await post(url, JSON.stringify(body), { headers: unsigned })
    expect(errors).toMatchObject([{ unverified: { project: 'of [redacted]', messageId: '[redacted]' } }])
    expect(JSON.stringify([lines, errors.map(({ message }) => message)])).not.toContain(secret)
  })
})
