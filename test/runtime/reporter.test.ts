import { createReceiver, ERRORS, MessagingWebhooksError, RefusedError } from 'messaging-webhooks'
import { ERRORS_PAGE } from '../../src/public/error-table.ts'
import { callback } from 'messaging-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'

afterEach(() => void vi.restoreAllMocks())

const refusedOnce = async (url: string): Promise<number> => (await fetch(url, { method: 'POST', body: '{}' })).status

test('handlers of onError receive every error until they are removed', async () => {
  const { receiver, url } = await receiving()
  const received: unknown[] = []
  const off = receiver.onError((error) => void received.push(error))
  expect(await refusedOnce(url)).toBe(401)
  off()
  expect(await refusedOnce(url)).toBe(401)
  expect(received).toHaveLength(1)
  expect(received[0]).toBeInstanceOf(RefusedError)
  expect(received[0]).toBeInstanceOf(MessagingWebhooksError)
  expect(await receiver.stats()).toMatchObject({ accepted: 0, refused: 2 })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no'))],
])('an onError handler that %s does no harm, and is logged', async (_what, handler: () => Promise<void>) => {
  const codes: unknown[] = []
  const log = (fields: object): void => void codes.push(Reflect.get(fields, 'code'))
  const { receiver, url, errors } = await receiving({ logger: { debug: log, info: log, warn: log, error: log } })
  receiver.onError(handler)
  receiver.onAny(() => {})
  expect(await refusedOnce(url)).toBe(401)
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  await receiver.drain()
  expect(errors).toHaveLength(1)
  expect(codes.filter((code) => code === 'on_error_failed')).toHaveLength(1)
})

test('a logger is called as a method of itself, as pino needs it', async () => {
  const lines: unknown[] = []
  class Lines {
    readonly lines = lines
    debug(): void {}
    info(): void {}
    warn(fields: object, text: string): void {
      this.lines.push({ ...fields, text })
    }
    error(): void {}
  }
  const { url } = await receiving({ logger: new Lines() })
  await refusedOnce(url)
  expect(lines).toContainEqual(expect.objectContaining({ code: 'signature_missing', status: 401 }))
})

describe('the default logger', () => {
  test('writes refusals to the console, at most ten a minute of a kind, and counts the rest', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const clock = fakeClock()
    const { url, server } = await receiving({ clock, logger: undefined })
    server.keepAliveTimeout = 75_000
    for (let time = 0; time < 25; time += 1) await refusedOnce(url)
    expect(warn).toHaveBeenCalledTimes(10)
    const line = /^messaging-webhooks refused with 401, signature_missing: The request has no signature header/
    for (const [said] of warn.mock.calls) expect(said).toMatch(line)
    expect(warn.mock.lastCall?.[0]).toMatch(/ \(Further lines of this code are withheld for a minute\.\)$/)
    expect(warn.mock.calls[8]?.[0]).not.toContain('withheld')
    expect(warn.mock.calls[0]?.[0]).toContain(`See ${ERRORS_PAGE}#signature_missing`)
    expect(warn.mock.calls[1]?.[0]).not.toContain(ERRORS_PAGE)
    // Another kind has lines of its own.
    await fetch(url, { method: 'POST', body: '{}', headers: { 'x-service-signature': 't=1' } })
    expect(warn).toHaveBeenCalledTimes(11)
    await clock.advance(60_000)
    expect(warn.mock.calls.slice(11)).toEqual([
      ['messaging-webhooks signature_missing: 15 more lines of this code were withheld.'],
    ])
    await refusedOnce(url)
    expect(warn).toHaveBeenCalledTimes(13)
    await clock.advance(60_000)
    expect(warn).toHaveBeenCalledTimes(13)
  })

  test('names the status of a refusal once', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { url, server } = await receiving({ logger: undefined, maxBodyBytes: 10 })
    server.keepAliveTimeout = 75_000
    await fetch(url, { method: 'POST', body: 'x'.repeat(11) })
    await fetch(url, { method: 'POST', body: 'x', headers: { 'content-encoding': 'gzip' } })
    expect(warn.mock.calls).toEqual([
      [
        'messaging-webhooks refused with 413, body_too_large: The body is larger than `maxBodyBytes`. ' +
          '11 bytes were announced; `maxBodyBytes` is 10. The URL has no kind. Raise the limit if the service sends such bodies. ' +
          `See ${ERRORS_PAGE}#body_too_large`,
      ],
      [expect.stringMatching(/^messaging-webhooks refused with 415, content_encoding: The body is compressed, /)],
    ])
  })

  test('no error text begins with a status, because its line already has it', () => {
    for (const [code, [happened]] of Object.entries(ERRORS)) expect(happened, code).not.toMatch(/^\d{3}\b/)
  })

  test('is silent with logger: false', async () => {
    const spies = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error'), vi.spyOn(console, 'log')]
    createReceiver({ credentials: { authKey: 'key\n' }, logger: false })
    const { url } = await receiving({ logger: false })
    await refusedOnce(url)
    for (const spy of spies) expect(spy).not.toHaveBeenCalled()
  })
})
