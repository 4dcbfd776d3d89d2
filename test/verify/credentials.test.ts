/** Pairs and projects: which are live, and to which project a callback belongs. */
import { createReceiver, type CredentialPair } from 'messaging-webhooks'
import { callback, deliver, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
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
