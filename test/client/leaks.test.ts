/** No key, number or text of a send in any error or line of the log, whatever the service and the runtime say. */
import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { answering, clientOf, failing, onTheWire } from './answering.ts'

const KEY = 'key-MARK1'
const TEXT = 'Your code is MARK2.'
const NUMBER = '254700334455'
const MARKS = [/MARK1/, /MARK2/, /254700334455/, /%3A|apiKey=/]

function shown(value: unknown): string {
  return [inspect(value, { depth: 9 }), JSON.stringify(value), String(value)].join('\n')
}

const QUOTING = `${KEY} / ${TEXT} / ${NUMBER}`

test.each(['json', 'form', 'query'] as const)('as %s', async (via) => {
  const printed = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')]
  const echo = await answering(({ url, body }) => ({ status: 400, body: { error: `${QUOTING} ${url} ${body}` } }))
  const invalid = await answering(() => ({ status: 400, body: { message: QUOTING, errors: { [NUMBER]: [QUOTING] } } }))
  const page = await answering(({ url, body }) => ({ body: `<p>${url} ${body}` }))
  const broken = await onTheWire((socket) => socket.resetAndDestroy())
  const urls = [echo.url, invalid.url, page.url, broken.url, `http://127.0.0.1:${await freePort()}/`]
  for (const keyIn of ['header', 'field'] as const)
    for (const url of urls) {
      const client = clientOf(url, { apiKey: KEY, via, keyIn, logger: undefined, retry: { initialDelayMs: 0 } })
      const error = await failing(client.send({ to: `+${NUMBER}`, message: TEXT }))
      for (const mark of MARKS) expect(shown(error)).not.toMatch(mark)
      const all = await client.sendAll({ to: [NUMBER], message: TEXT })
      for (const mark of MARKS) expect(shown(all.stoppedBy)).not.toMatch(mark)
    }
  // What the service says can be asked for, with the same masked.
  const asked = await failing(clientOf(invalid.url, { apiKey: KEY, via }).send({ to: NUMBER, message: TEXT }))
  expect(asked.said).toBe('… / … / …')
  expect(asked.errors).toEqual({ '…': ['… / … / …'] })
  const lines = printed.flatMap(({ mock }) => mock.calls.map((call) => call.join(' ')))
  expect(lines.length).toBeGreaterThan(0)
  for (const mark of MARKS) expect(lines.join('\n')).not.toMatch(mark)
  vi.restoreAllMocks()
})

test('what a runtime says of a request that failed is not quoted', async () => {
  const client = clientOf('http://service.invalid/', {
    apiKey: KEY,
    via: 'query',
    keyIn: 'field',
    fetch: (url) => {
      const cause = new Error(`error sending request for url (${url}): client error (Connect): ${QUOTING}`)
      return Promise.reject(Object.assign(new TypeError(`fetch failed ${url}`, { cause }), { url, request: QUOTING }))
    },
  })
  const error = await failing(client.send({ to: NUMBER, message: TEXT }))
  expect(error).toMatchObject({ code: 'not_sent', reason: 'connect' })
  for (const mark of MARKS) expect(shown(error)).not.toMatch(mark)
})

test('an option that is wrong is not quoted', async () => {
  const client = clientOf('http://service.invalid/', { apiKey: `${KEY}\nx` })
  const sends = [
    client.send({ to: NUMBER, message: TEXT }),
    client.send({ to: [NUMBER, ''], message: TEXT }),
    clientOf('http://service.invalid/').send({ to: NUMBER, message: TEXT, extra: { n: 1n, text: QUOTING } }),
    clientOf('http://service.invalid/', { via: 'form' }).send({ to: NUMBER, message: TEXT, extra: { a: { QUOTING } } }),
  ]
  for (const each of sends) {
    const error: unknown = await each.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'options_invalid' })
    for (const mark of MARKS) expect(shown(error)).not.toMatch(mark)
  }
})
