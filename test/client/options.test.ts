/** Invalid options are refused before any send, with an error that says what was expected. */
import { createClient, type ClientOptions, type Message, type SendAllOptions } from 'messaging-webhooks/client'
import { describe, expect, test } from 'vitest'
import { logging } from '../support/logging.ts'
import { unhandledRejections, untilRejectionsReported } from '../support/hostile.ts'

const RIGHT: ClientOptions = { baseUrl: 'https://service.invalid/api/v1/messaging', project: 'My Shop', apiKey: 'key' }
const HELLO: Message = { to: '999100000000', message: 'Hello' }

test.each([
  [{ baseUrl: 'service.invalid' }, 'baseUrl is a string; expected an http or https URL without credentials'],
  [{ baseUrl: 'ftp://service.invalid/' }, 'baseUrl is a string'],
  [{ baseUrl: 'https://user:secret@service.invalid/' }, 'baseUrl is a string'],
  [{ project: '' }, 'project is an empty string'],
  [{ apiKey: undefined }, 'apiKey is undefined; expected a non-empty string (is the variable set?), or a function'],
  [{ apiKey: '' }, 'apiKey is an empty string'],
  [{ timeoutMs: 0 }, 'timeoutMs is 0'],
  [{ timeout: 5 }, 'Invalid option for createClient: timeout. Did you mean timeoutMs?'],
  [{ retry: { attempts: 0 } }, 'retry.attempts is 0; expected a whole number from 1 to 20'],
  [{ retry: { delayMs: 1 } }, 'Invalid option for createClient: retry.delayMs. Did you mean'],
  [{ channels: { sms: 'sms' } }, 'Invalid option for createClient: channels.sms'],
  [{ logger: {} }, 'logger is an object; expected false, or a logger with'],
  [{ fetch: 'fetch' }, 'fetch is a string; expected a function'],
  [{ receiver: {} }, 'receiver is an object; expected a receiver from createReceiver()'],
  [{ recordWithinMs: 0 }, 'recordWithinMs is 0'],
])('createClient with %j', (wrong, says) => {
  const create = (): unknown => createClient({ ...RIGHT, ...wrong } as unknown as ClientOptions)
  expect(create).toThrow(expect.objectContaining({ code: 'options_invalid' }))
  expect(create).toThrow('createClient: ')
  expect(create).toThrow(says)
})

describe('a baseUrl', () => {
  const likelyOf = (baseUrl: string): unknown => {
    const { logger, lines } = logging()
    createClient({ ...RIGHT, baseUrl, logger })
    for (const { level, fields, text } of lines) {
      expect([level, fields['code']]).toEqual(['warn', 'base_url_unusual'])
      expect(text).toContain(String(fields['likely']))
      expect(JSON.stringify([fields, text])).not.toContain('s3cret')
    }
    expect(lines.length).toBeLessThan(2)
    return lines[0]?.fields['likely']
  }

  test.each([
    ['https://a.invalid', 'https://a.invalid/api/v1/messaging'],
    ['http://a.invalid:8080/', 'http://a.invalid:8080/api/v1/messaging'],
    ['https://a.invalid/api', 'https://a.invalid/api/v1/messaging'],
    ['https://a.invalid/api/v1/', 'https://a.invalid/api/v1/messaging'],
    ['https://a.invalid/v1', 'https://a.invalid/v1/messaging'],
    ['https://a.invalid/api/v1/messaging/', 'https://a.invalid/api/v1/messaging'],
    ['https://a.invalid/v1/messaging/send', 'https://a.invalid/v1/messaging'],
    ['https://a.invalid/api/v1/messaging?key=s3cret', 'https://a.invalid/api/v1/messaging'],
    ['https://a.invalid/s3cret/v1/messaging/#x', 'https://a.invalid/…/v1/messaging'],
    ['https://a.invalid/s3cret', 'https://a.invalid/…/api/v1/messaging'],
    ['https://a.invalid/messaging', 'https://a.invalid/…/api/v1/messaging'],
  ])('%s is logged with the address that was probably meant', (baseUrl, likely) => {
    expect(likelyOf(baseUrl)).toBe(likely)
  })

  test.each([
    'https://a.invalid/api/v1/messaging',
    'https://a.invalid/v1/messaging',
    'https://a.invalid/s3cret/v1/messaging',
  ])('%s is not', (baseUrl) => {
    expect(likelyOf(baseUrl)).toBeUndefined()
  })
})

describe('a send', () => {
  const client = createClient({
    ...RIGHT,
    fetch: () => {
      throw new Error('Something was sent.')
    },
  })

  test.each([
    [{ to: '' }, 'send: to is an empty string; expected digits, with or without a plus'],
    [{ to: [] }, 'send: to is a list'],
    [{ to: [1] }, 'send: to is a list'],
    [{ message: undefined }, 'send: message is undefined; expected a string'],
    [{ scheduledFor: new Date(NaN) }, 'send: scheduledFor is an object; expected a Date that is valid'],
    [{ scheduledFor: '2030-01-01' }, 'send: scheduledFor is a string'],
    [{ recipient: '999100000000' }, 'Invalid option for send: recipient'],
    [{ chanel: 'sms' }, 'Invalid option for send: chanel. Did you mean channel?'],
    [{ extra: { to: '999200000000' } }, 'send: extra.to is a field that the client writes itself'],
    [{ extra: 'x' }, 'send: extra is a string; expected an object'],
    [{ reference: 'order 7' }, 'send: reference requires the option receiver of createClient'],
    [{ withinMs: 1 }, 'send: withinMs requires the option receiver'],
  ])('with %j', async (wrong, says) => {
    const sending = client.send({ ...HELLO, ...wrong } as unknown as Message)
    await expect(sending).rejects.toMatchObject({
      code: 'options_invalid',
      detail: expect.stringContaining(says) as string,
    })
  })

  test('with an unknown option', async () => {
    await expect(client.send(HELLO, { signal: {} as AbortSignal })).rejects.toThrow('expected an AbortSignal')
    for (const wrong of [{ batch: 0 }, { concurrency: 1.5 }, { onprogress() {} }])
      expect(() => client.sendAll(HELLO, wrong as SendAllOptions)).toThrow(/sendAll/)
    await expect(client.otp({ ...HELLO, type: 'bulk' } as Message)).rejects.toThrow('Invalid option for otp: type')
  })

  test('whose time cannot be written', async () => {
    const broken = [
      () => null,
      () => JSON.parse('{') as object,
      () => 'tomorrow',
      async () => Promise.reject(new Error()),
    ]
    const reasons = unhandledRejections()
    for (const schedule of broken) {
      const scheduling = createClient({ ...RIGHT, schedule: schedule as () => Record<string, unknown> })
      const sending = scheduling.send({ ...HELLO, scheduledFor: new Date() })
      await expect(sending).rejects.toMatchObject({ code: 'options_invalid' })
    }
    await untilRejectionsReported()
    expect(reasons).toEqual([])
  })

  test('that cannot be written', async () => {
    expect(() => client.sendAll({ ...HELLO, extra: { a: 1n } })).toThrow('cannot be written as JSON')
    await expect(createClient({ ...RIGHT, apiKey: 'key\n' }).send(HELLO)).rejects.toThrow(
      'may be the line end of a file',
    )
  })
})
