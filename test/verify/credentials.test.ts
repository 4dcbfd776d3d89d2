import { createReceiver, type CredentialPair } from 'messaging-webhooks'
import { callback, deliver } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { receiving } from '../support/receiving.ts'
import { A, B, send } from '../support/pairs.ts'

describe('pairs', () => {
  test('either half of a pair may be left out', async () => {
    const keyed = await receiving({ credentials: { authKey: A.authKey } })
    expect(await send(keyed.url, { authKey: A.authKey })).toBe(204)
    expect(await send(keyed.url, { signingSecret: A.signingSecret })).toBe(401)
    const signing = await receiving({ credentials: { signingSecret: A.signingSecret } })
    expect(await send(signing.url, { signingSecret: A.signingSecret })).toBe(204)
    expect(await send(signing.url, { authKey: 'undefined' })).toBe(401)
  })

  test('several pairs are live at once', async () => {
    const { url } = await receiving({ credentials: [A, B] })
    for (const { authKey, signingSecret } of [A, B]) {
      expect(await send(url, { authKey })).toBe(204)
      expect(await send(url, { signingSecret })).toBe(204)
    }
  })

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

  test('the body names the project of an unnamed pair', async () => {
    const { receiver, url } = await receiving({ credentials: A })
    const projects: unknown[] = []
    receiver.onAny(({ project }) => void projects.push(project))
    await send(url, A, { messageId: '1', project: 'My Shop' })
    await send(url, A, { messageId: '2', project: undefined })
    await receiver.drain()
    expect(projects).toEqual(['My Shop', undefined])
    expect(await receiver.messageState('1')).toMatchObject({ project: 'My Shop' })
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
  receiver.onAny(() => {
    throw new Error('no file /usr/src/app/short/aaaaaaaaaaaa')
  })
  await deliver(receiver.middleware('status'), callback.smsDelivery(), pair)
  await receiver.drain()
  const weak = lines.filter(([{ code }]) => code === 'secret_weak')
  expect(weak).toHaveLength(1)
  expect(lines.find(([{ code }]) => code === 'dead_letter')?.[1]).toContain('/usr/src/app/short/aaaaaaaaaaaa')
})
