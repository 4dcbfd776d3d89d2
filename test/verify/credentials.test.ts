/** Credentials as pairs, as projects and as a function: which are live, and to which project a callback belongs. */
import { createReceiver, type CredentialPair, type CredentialsFunction } from 'messaging-webhooks'
import type { CredentialsOption } from '../../src/verify/credentials.ts'
import { callback, deliver, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { logging } from '../support/logging.ts'
import { receiving } from '../support/receiving.ts'
import { A, B, send } from '../support/pairs.ts'

describe('pairs', () => {
  test.each([
    ['a Date', (ms: number) => new Date(ms)],
    ['milliseconds', (ms: number) => ms],
  ])('a pair is no longer accepted after its notAfter, given as %s', async (_form, notAfter) => {
    const clock = fakeClock()
    const { url } = await receiving({ clock, credentials: [{ ...A, notAfter: notAfter(clock.now() + 60_000) }, B] })
    const timestamp = Math.floor(clock.now() / 1_000)
    await clock.advance(60_000)
    expect(await send(url, { signingSecret: A.signingSecret }, {}, timestamp)).toBe(204)
    expect(await send(url, { authKey: A.authKey })).toBe(204)
    await clock.advance(1)
    expect(await send(url, { signingSecret: A.signingSecret }, {}, timestamp)).toBe(401)
    expect(await send(url, { authKey: A.authKey })).toBe(401)
    expect(await send(url, { authKey: B.authKey })).toBe(204)
  })
})

describe('projects', () => {
  const projects = { 'My Shop': A, 'Other Shop': [B] }

  test('the same message id of two projects is two messages', async () => {
    const { receiver, url } = await receiving({ projects })
    await send(url, A, { project: 'My Shop', messageId: '1', status: 'success' })
    await send(url, B, { project: 'Other Shop', messageId: '1', status: 'delivery_impossible' })
    expect(await receiver.messageState('1', { project: 'My Shop' })).toMatchObject({ status: 'success' })
    expect(await receiver.messageState('1', { project: 'Other Shop' })).toMatchObject({ status: 'delivery_impossible' })
    await expect(receiver.messageState('1')).rejects.toMatchObject({ code: 'project_required' })
  })
})

test.each<Pick<CredentialPair, 'authKey' | 'signingSecret'>>([
  { signingSecret: 'app' },
  { authKey: 'aaaaaaaaaaaa' },
  { authKey: 'a-long-key', signingSecret: 'short' },
])('a secret that is short or plain causes one warning, and log lines stay readable', async (pair) => {
  const lines: [{ readonly code: string }, string][] = []
  const log = (fields: { readonly code: string }, text: string): void => void lines.push([fields, text])
  const logger = { debug() {}, info() {}, warn: log, error: log } as const
  const receiver = createReceiver({ credentials: pair, logger, retry: { attempts: 1 } })
  receiver.onAny(() => Promise.reject(new Error('no file /usr/src/app/short/aaaaaaaaaaaa')))
  await deliver(receiver.middleware('status'), callback.smsDelivery(), pair)
  await receiver.drain()
  const weak = lines.filter(([{ code }]) => code === 'secret_weak')
  expect(weak).toHaveLength(1)
  expect(lines.find(([{ code }]) => code === 'dead_letter')?.[1]).toContain('/usr/src/app/short/aaaaaaaaaaaa')
})

describe('a pair without a signing secret', () => {
  const { authKey } = A

  test('is named once at the start, and its signed callbacks are not reported', async () => {
    const { logger, of } = logging()
    const { url, errors } = await receiving({ logger, credentials: { authKey } })
    for (let count = 0; count < 3; count += 1) expect(await send(url, A)).toBe(204)
    expect(errors).toEqual([])
    expect(of('no_signing_secret').map(({ level }) => level)).toEqual(['warn'])
    expect(of('signature_ignored')).toEqual([])
  })

  test('of one project changes nothing for the others', async () => {
    const { logger, of } = logging()
    const { url, errors } = await receiving({ logger, projects: { 'My Shop': { authKey }, 'Other Shop': B } })
    const wrong = { ...B, signingSecret: A.signingSecret }
    expect(await send(url, A, { project: 'My Shop' })).toBe(204)
    expect(errors).toEqual([])
    expect(await send(url, wrong, { project: 'Other Shop' })).toBe(204)
    expect(errors.map(({ code }) => code)).toEqual(['signature_ignored'])
    expect(of('no_signing_secret')).toHaveLength(1)
  })

  test('is silent if a credentials function returns it', async () => {
    const { url, errors } = await receiving({ credentials: () => ({ authKey }) })
    expect(await send(url, A)).toBe(204)
    expect(errors).toEqual([])
  })

  test('beside an expired pair with one: the expired secret counts no more', async () => {
    const clock = fakeClock()
    const expired = { ...B, notAfter: clock.now() - 1 }
    const { url, errors } = await receiving({ clock, credentials: [expired, { authKey }] })
    expect(await send(url, A, {}, Math.floor(clock.now() / 1_000))).toBe(204)
    expect(errors).toEqual([])
  })
})

const PROJECTS = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [
    `Shop ${index}`,
    { authKey: `auth-key-of-shop-${index}`, signingSecret: `signing-secret-of-shop-${index}` },
  ]),
)

async function postUnnamed(url: string, body: string, secret: string): Promise<number> {
  const headers = { 'x-service-signature': signCallback(body, secret) }
  return (await fetch(url, { method: 'POST', body, headers })).status
}

test('a payment without a project belongs to the one whose pair proves it, including the fiftieth', async () => {
  const { receiver, url } = await receiving({ projects: PROJECTS }, { kind: 'payment' })
  const seen: (string | undefined)[] = []
  receiver.on('payment', ({ project }) => void seen.push(project))
  for (const index of [0, 17, 49])
    expect(await postUnnamed(url, `{"amount":${index}}`, `signing-secret-of-shop-${index}`)).toBe(204)
  await receiver.drain()
  expect(seen.toSorted()).toEqual(['Shop 0', 'Shop 17', 'Shop 49'])
})

test('tries a large body without a project with sixteen pairs, so that a forged one stays cheap', async () => {
  const { url, errors } = await receiving({ projects: PROJECTS }, { kind: 'payment' })
  const body = `{"note":"${'x'.repeat(250 * 1024)}"}`
  expect(await postUnnamed(url, body, 'signing-secret-of-shop-15')).toBe(204)
  expect(await postUnnamed(url, body, 'signing-secret-of-shop-17')).toBe(401)
  expect(errors.map(({ code }) => code)).toEqual(['signature_mismatch'])
})

describe('a credentials function', () => {
  const forms: Readonly<Record<string, CredentialsFunction>> = {
    synchronous: (project) => (project === 'My Shop' ? A : undefined),
    asynchronous: async (project) => (project === 'My Shop' ? [B, A] : null),
  }

  test.each(Object.entries(forms))('that is %s is called once for each request', async (_form, lookUp) => {
    const asked: unknown[] = []
    const credentials: CredentialsFunction = (project) => {
      asked.push(project)
      return lookUp(project)
    }
    const { receiver, url, errors } = await receiving({ credentials })
    expect(await send(url, A, { project: 'My Shop', messageId: '1' })).toBe(204)
    expect(await send(url, A, { project: 'Another' })).toBe(401)
    expect(await send(url, A, { project: undefined })).toBe(401)
    expect(asked).toEqual(['My Shop', 'Another', undefined])
    expect(errors.map(({ code }) => code)).toEqual(['project_unknown', 'project_unknown'])
    expect(await receiver.messageState('1', { project: 'My Shop' })).toMatchObject({ project: 'My Shop' })
  })

  test('is not called again at once for an unknown name', async () => {
    let asked = 0
    const clock = fakeClock()
    const { url } = await receiving({ clock, credentials: () => void (asked += 1) })
    for (let time = 0; time < 3; time += 1) expect(await send(url, A, { project: 'Unknown' })).toBe(401)
    expect(asked).toBe(1)
    await clock.advance(1_000)
    expect(await send(url, A, { project: 'Unknown' })).toBe(401)
    expect(asked).toBe(2)
  })

  test.each(['a\0b', '\0', '\ud800', 'x\udc00y', '\udc00\ud800'])(
    'is not called for %j, and its own failure does not count as an outage',
    async (project) => {
      const asked: unknown[] = []
      const { url, errors, receiver } = await receiving({
        credentials: (name) => {
          asked.push(name)
          throw new Error('refused by the database')
        },
      })
      expect(await send(url, A, { project })).toBe(401)
      expect(await receiver.quarantine.reverify()).toEqual({ examined: 1, admitted: 0, stillUnproved: 1 })
      expect(asked).toEqual([])
      expect(errors).toMatchObject([{ code: 'project_name_malformed' }])
      expect(receiver.quarantine.counts()).toMatchObject({ unverified: 0, looksLikeOurs: 0, rest: 1 })
    },
  )

  test.each([
    [
      'throws',
      () => {
        throw new Error('down')
      },
      'credentials_failed',
    ],
    ['rejects', () => Promise.reject(new Error('down')), 'credentials_failed'],
    ['returns an empty secret', () => ({ authKey: A.authKey, signingSecret: '' }), 'credentials_invalid'],
    ['returns an empty key in a list', () => [{ authKey: '' }], 'credentials_invalid'],
    ['returns no pair', () => ({}), 'credentials_invalid'],
    ['returns text', () => A.authKey as unknown as CredentialsOption, 'credentials_invalid'],
  ])('that %s leads to a 503 and an error report', async (_what, credentials, code) => {
    const { url, errors } = await receiving({ credentials: credentials as CredentialsFunction })
    expect(await send(url, A)).toBe(503)
    expect(errors).toMatchObject([{ name: 'RefusedError', code, status: 503 }])
  })

  test('that is slow leads to a 503 after lookupTimeoutMs', async () => {
    const clock = fakeClock()
    const { url, errors } = await receiving({
      clock,
      lookupTimeoutMs: 2_000,
      credentials: () => new Promise(() => {}),
    })
    const answer = send(url, A)
    await expect
      .poll(async () => {
        await clock.advance(500)
        return errors.map(({ code }) => code)
      })
      .toEqual(['credentials_slow'])
    expect(await answer).toBe(503)
  })

  test('has at most 128 look-ups in flight', async () => {
    const pending: ((pair: typeof A) => void)[] = []
    const { url, errors } = await receiving({ credentials: () => new Promise((resolve) => pending.push(resolve)) })
    const answers = Array.from({ length: 129 }, () => send(url, A))
    await expect.poll(() => errors.map(({ code }) => code)).toEqual(['credentials_busy'])
    expect(pending).toHaveLength(128)
    for (const resolve of pending) resolve(A)
    const statuses = await Promise.all(answers)
    expect(statuses.filter((status) => status === 204)).toHaveLength(128)
  })

  test('may change a pair in place', async () => {
    const pair = { ...A }
    const { url } = await receiving({ credentials: () => pair })
    expect(await send(url, A)).toBe(204)
    Object.assign(pair, B)
    expect(await send(url, A)).toBe(401)
    expect(await send(url, B)).toBe(204)
  })
})
