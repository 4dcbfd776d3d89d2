/** No error and no log line contains a key, number or text of a send, whatever the service or the runtime reports. */
import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { receiving } from '../support/receiving.ts'
import { answering, clientOf, failing, onTheWire } from './answering.ts'

const KEY = 'key-MARK1'
const TEXT = 'Your code is MARK2.'
const NUMBER = '254700334455'
const MARKS = [/MARK1/, /MARK2/, /254700334455/, /%3A|apiKey=/]

function shown(value: unknown): string {
  return [inspect(value, { depth: 9 }), JSON.stringify(value), String(value)].join('\n')
}

const QUOTING = `${KEY} / ${TEXT} / ${NUMBER}`

test('in an error, an outcome or a log line', async () => {
  const printed = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')]
  const echo = await answering(({ url, body }) => ({ status: 400, body: { error: `${QUOTING} ${url} ${body}` } }))
  const invalid = await answering(() => ({ status: 400, body: { message: QUOTING, errors: { [NUMBER]: [QUOTING] } } }))
  const page = await answering(({ url, body }) => ({ body: `<p>${url} ${body}` }))
  const broken = await onTheWire((socket) => socket.resetAndDestroy())
  const urls = [echo.url, invalid.url, page.url, broken.url, `http://127.0.0.1:${await freePort()}/`]
  for (const url of urls) {
    const client = clientOf(url, { apiKey: KEY, logger: undefined, retry: { initialDelayMs: 0 } })
    const error = await failing(client.send({ to: `+${NUMBER}`, message: TEXT }))
    for (const mark of MARKS) expect(shown(error)).not.toMatch(mark)
    const all = await client.sendAll({ to: [NUMBER], message: TEXT })
    for (const mark of MARKS) expect(shown(all.stoppedBy)).not.toMatch(mark)
  }
  // The service's answer is available on request, masked in the same way.
  const asked = await failing(clientOf(invalid.url, { apiKey: KEY }).send({ to: NUMBER, message: TEXT }))
  expect(asked.said).toBe('… / … / …')
  expect(asked.errors).toEqual({ '…': ['… / … / …'] })
  const lines = printed.flatMap(({ mock }) => mock.calls.map((call) => call.join(' ')))
  expect(lines.length).toBeGreaterThan(0)
  for (const mark of MARKS) expect(lines.join('\n')).not.toMatch(mark)
  vi.restoreAllMocks()
})

describe('quotations by the service are masked in every form', () => {
  const key = 'key/MARK1+="&'
  const message = 'Ünser "code"\n is 778899: <MARK2> & 50 % / off!'
  const to = `+${NUMBER}`
  const ascii = (json: string): string =>
    json.replaceAll(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const formed = (text: string): string => new URLSearchParams({ text }).toString().slice('text='.length)
  const lower = (text: string): string => text.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())
  const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1)
  const FORMS: Readonly<Record<string, (text: string) => string>> = {
    raw: (text) => text,
    'percent-encoded': encodeURIComponent,
    'percent-encoded in lower case': (text) => lower(encodeURIComponent(text)),
    'as in a form': formed,
    'as in a form, in lower case': (text) => lower(formed(text)),
    JSON: jsonOf,
    'JSON of ASCII': (text) => ascii(jsonOf(text)),
    'JSON of ASCII in capitals': (text) =>
      ascii(jsonOf(text)).replaceAll(/(?<=\\u)[0-9a-f]{4}/g, (hex) => hex.toUpperCase()),
    'JSON with slashes escaped': (text) => ascii(jsonOf(text)).replaceAll('/', '\\/'),
  }

  test.each(Object.keys(FORMS))('%s', async (name) => {
    const form = FORMS[name] ?? String
    const { url } = await answering(() => ({
      status: 400,
      body: { error: [key, message, to].map((each) => form(each)).join(' | ') },
    }))
    const client = clientOf(url, { apiKey: key })
    const { said } = await failing(client.send({ to, message }))
    expect(said?.replaceAll(/%2[Bb]/g, '+')).toMatch(/^… \| … \| \+?…$/)
  })

  test('a part of the text with its code, and a number among much else', async () => {
    const quoted = `Too long: Your code is 4711... ${'x'.repeat(20_000)} ${NUMBER.slice(0, 10)}`
    const { url } = await answering(() => ({ status: 400, body: { error: quoted } }))
    const { said } = await failing(clientOf(url).send({ to, message: '4711 is your code.' }))
    expect(said).toMatch(/^Too long: Your code is …\.\.\. x+…$/)
  })

  test('cutting it leaves no prefix of a secret', async () => {
    for (let before = 16_360; before < 16_400; before += 1) {
      const list = '9'.repeat(before)
      const { url } = await answering(() => ({ status: 400, body: { error: `${list} ${NUMBER} and more` } }))
      const { said } = await failing(clientOf(url).send({ to: ['9'.repeat(40), NUMBER], message: 'x' }))
      expect(said).not.toContain('2547')
    }
  })
})

test('does not quote the runtime’s message for a failed request', async () => {
  const client = clientOf('http://service.invalid/', {
    apiKey: KEY,
    fetch: (url) => {
      const cause = new Error(`error sending request for url (${url}): client error (Connect): ${QUOTING}`)
      return Promise.reject(Object.assign(new TypeError(`fetch failed ${url}`, { cause }), { url, request: QUOTING }))
    },
  })
  const error = await failing(client.send({ to: NUMBER, message: TEXT }))
  expect(error).toMatchObject({ code: 'not_sent', reason: 'connect' })
  for (const mark of MARKS) expect(shown(error)).not.toMatch(mark)
})

test('does not quote an invalid option', async () => {
  const client = clientOf('http://service.invalid/', { apiKey: `${KEY}\nx` })
  const sends = [
    client.send({ to: NUMBER, message: TEXT }),
    client.send({ to: [NUMBER, ''], message: TEXT }),
    clientOf('http://service.invalid/').send({ to: NUMBER, message: TEXT, extra: { n: 1n, text: QUOTING } }),
  ]
  for (const each of sends) {
    const error: unknown = await each.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'options_invalid' })
    for (const mark of MARKS) expect(shown(error)).not.toMatch(mark)
  }
})

test('does not show a number given instead of a string', async () => {
  const { receiver } = await receiving()
  const client = clientOf('http://service.invalid/')
  const number = Number(NUMBER) as never
  const code = 654_321 as never
  const calls = [
    client.otp({ to: NUMBER, message: code }),
    client.otp(code),
    client.send({ to: number, message: TEXT }),
    client.send({ to: [number], message: TEXT }),
    receiver.sends.intend({ to: number }),
    receiver.sends.intend({ to: [NUMBER, number] }),
    receiver.sends.expect({ messages: [{ messageId: 'm', to: number }] }),
    receiver.sends.expect({ messages: [], recipients: [{ to: number }] }),
    receiver.forget({ recipient: number }),
  ]
  for (const call of calls) {
    const error: unknown = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ code: 'options_invalid' })
    expect(shown(error)).not.toMatch(/654321|254700334455/)
  }
})
