import type { CredentialsFunction, CredentialsOption } from 'messaging-webhooks'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { receiving } from '../support/receiving.ts'
import { A, B, send } from '../support/pairs.ts'

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
