/** The log shows whatever a handler threw, without keys. */
import { HandlerError } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { THROWN } from '../support/hostile.ts'
import { logging } from '../support/logging.ts'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'

afterEach(() => void vi.restoreAllMocks())

class DatabaseError extends Error {}

/** Makes a handler throw it once; returns the log entry of `handler_failed`. */
async function logged(thrown: unknown, body = callback.smsDelivery({ messageId: 'm-1' }), isRejected = false) {
  const { logger, of } = logging()
  const { receiver, url, errors } = await receiving({ logger, retry: { attempts: 1 } })
  receiver.onAny((): void | Promise<void> => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what is rejected with is the test
    if (isRejected) return Promise.reject(thrown)
    throw thrown
  })
  expect((await post(url, body)).status).toBe(204)
  await receiver.drain()
  const { items } = await receiver.deadLetters.list()
  const [line] = of('handler_failed')
  const [death] = of('dead_letter')
  if (line === undefined || death === undefined) throw new Error('Nothing was logged.')
  return { line, death, errors, letter: items[0] }
}

test('the log shows the error, its place, and the event', async () => {
  const { line, death, errors, letter } = await logged(new DatabaseError('the table is gone'))
  const eventId = letter?.id ?? ''
  expect(line).toMatchObject({
    level: 'error',
    fields: {
      code: 'handler_failed',
      eventId,
      eventType: 'message.delivered',
      messageId: 'm-1',
      attempt: 1,
      cause: 'DatabaseError: the table is gone',
    },
  })
  expect(line.text).toContain(`message.delivered of message "m-1" (event ${eventId}), attempt 1.`)
  expect(line.text).toContain('\n    DatabaseError: the table is gone\n        at ')
  // The line in which the handler's author looks for the mistake.
  expect(line.text).toContain('logged-failures.test.ts:')
  expect(death.text).toContain('\n    DatabaseError: the table is gone\n        at ')
  expect(errors.map((error) => error instanceof HandlerError && error.messageId)).toEqual(['m-1', 'm-1'])
})

test('an event without a message has no messageId', async () => {
  const { line, errors } = await logged(new Error('down'), callback.received())
  expect(line.fields).not.toHaveProperty('messageId')
  expect(errors[0]).toHaveProperty('messageId', undefined)
})

test.each<readonly [what: string, thrown: () => unknown, says: string]>([
  ['whose name was set afterwards', () => Object.assign(new Error('x'), { name: 'QuotaError' }), 'QuotaError: x'],
  [
    'whose text was changed afterwards',
    () => Object.assign(new Error('x'), { message: 'for order 7' }),
    'Error: for order 7',
  ],
  ['of the system', () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'connect (ECONNREFUSED)'],
  ['with a cause', () => new Error('fetch failed', { cause: new Error('no route') }), 'Caused by: Error: no route'],
  ['of several', () => new AggregateError([new Error('no IPv4'), new Error('no IPv6')]), 'Caused by: Error: no IPv6'],
])('an error %s', async (_what, thrown, says) => {
  const { line, letter } = await logged(thrown())
  expect(line.text).toContain(says)
  expect(line.fields['cause']).toContain(says)
  expect(letter?.error).toContain(says)
})

const ODD: readonly (readonly [what: string, thrown: () => unknown])[] = [
  ...THROWN,
  ['null', () => null],
  ['a number', () => 7],
  ['an error without a stack', () => Object.assign(new Error('down'), { stack: undefined })],
  ['an error whose fields are no text', () => Object.assign(new Error('down'), { stack: 1, message: 2 })],
  ['a text of 10 MB', () => 'x'.repeat(10_000_000)],
  ['an object of 10 MB', () => ({ list: Array(10_000).fill('x'.repeat(1_000)) })],
  ['a long text of half addresses', () => '://a:'.repeat(100_000)],
]

test.each(ODD)('%s, thrown or rejected with, costs no event, and is logged within bounds', async (_, thrown) => {
  for (const isRejected of [false, true]) {
    const { line, errors, letter } = await logged(thrown(), undefined, isRejected)
    expect(line.text.length).toBeLessThan(10 * 1024)
    expect(line.fields['cause']).toMatch(/^.{1,510}$/)
    expect(letter?.error.length).toBeLessThan(8 * 1024 + 10)
    expect(errors.map(({ code }) => code)).toEqual(['handler_failed', 'dead_letter'])
  }
})

test('no key, secret or password that an error quotes is in the log', async () => {
  const quoted = `${AUTH_KEY} and ${SIGNING_SECRET} at postgres://app:hunter2@db.example/app, or ?password=hunter2`
  const { line, death } = await logged(new Error(quoted, { cause: new Error(quoted) }))
  for (const { text, fields } of [line, death])
    for (const shown of [text, String(fields['cause'])]) {
      expect(shown).toContain('[redacted] and [redacted] at postgres://app:[redacted]@db.example/app')
      for (const secret of [AUTH_KEY, SIGNING_SECRET, 'hunter2']) expect(shown).not.toContain(secret)
    }
})

test('the message for onError has the text of the error, and no secret from it', async () => {
  const { errors, line } = await logged(new DatabaseError(`no row for ${SIGNING_SECRET}`))
  expect(errors.map(({ code }) => code)).toEqual(['handler_failed', 'dead_letter'])
  for (const { message } of errors)
    expect(message).toMatch(/, attempt 1\. Cause: DatabaseError: no row for \[redacted\]\. Fix .* See https:\S+$/)
  expect(line.text).toContain('Cause: DatabaseError: no row for [redacted].')
})

test('a message id is shown as text, and its length is limited', async () => {
  const { line } = await logged(new Error('down'), callback.smsDelivery({ messageId: `a"\n${'b'.repeat(10_000)}` }))
  expect(line.text).toContain(String.raw`of message "a\"\n${'b'.repeat(97)}…" (event`)
})

test('on the console it takes one line plus its own lines, which contain no terminal codes', async () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  vi.spyOn(console, 'warn').mockImplementation(() => {})
  const { receiver, url } = await receiving({ logger: undefined, retry: { attempts: 1 } })
  receiver.onAny(() => {
    throw new Error('\u001b[2Jgone\nmessaging-webhooks: all is well')
  })
  await post(url, callback.smsDelivery({ messageId: 'm-1' }))
  await receiver.drain()
  const said = String(error.mock.calls[0]?.[0])
  expect(said).toMatch(/^messaging-webhooks handler_failed: A handler threw\. /)
  expect(said).toContain('\n    Error: \uFFFD[2Jgone\n    messaging-webhooks: all is well\n        at ')
})
