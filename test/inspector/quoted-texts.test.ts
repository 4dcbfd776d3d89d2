/** Without `reveal`, no quotation of a customer's text in a handler's error is shown, and masking has bounded cost. */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { DeadLetterList, EventDetail, EventList } from '../../src/inspector/routes.ts'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import { ownFile } from '../support/own-folder.ts'

const READ = { 'x-may': 'read' }
const TEXT = 'Say "yes" to\nO\'Brien \\ Ωmega'

type Quote = (text: string, body: object) => string

/** All that the inspector shows of one payment whose handler fails with what `quote` makes of it, without the right to see it. */
async function shownOf(quote: Quote, fields: object = { note: TEXT }): Promise<string> {
  const { get, payment, receiver } = await inspecting({ retry: { attempts: 1 } })
  receiver.on('payment', ({ data }) => {
    throw new Error(quote(TEXT, data))
  })
  await post(payment, { id: 'p-1', ...fields })
  await receiver.drain()
  const events = as<EventList>((await get('api/events', READ)).body)
  const letters = as<DeadLetterList>((await get('api/dead-letters', READ)).body)
  const detail = as<EventDetail>((await get(`api/events/${events.items[0]?.id ?? ''}`, READ)).body)
  expect(letters.items).toHaveLength(1)
  expect(detail.attempts).toHaveLength(1)
  return JSON.stringify([events, letters, detail])
}

const QUOTES: Readonly<Record<string, Quote>> = {
  'as it is': (text) => `no such customer: ${text}`,
  'as JSON': (text) => `no such customer: ${JSON.stringify(text)}`,
  'as JSON of the body': (_, body) => `no such customer: ${JSON.stringify(body)}`,
  'as JSON in JSON': (_, body) => `no such customer: ${JSON.stringify(JSON.stringify(body))}`,
  'as a debugger prints it': (_, body) => `no such customer: ${inspect(body)}`,
  'in an address': (text) => `GET /customers?name=${encodeURIComponent(text)} failed`,
  'a line of it': (text) => `no such customer: ${text.split('\n')[1] ?? ''}`,
  'cut in the middle': (text) => `${'x'.repeat(8_170)} ${JSON.stringify(text)}`,
  'a part of it': (text) => `no customer like ${text.slice(5, 8)} or ${text.slice(-4)}`,
  'cut by the app': (text) => `no such customer: ${text.slice(0, 7)}…`,
  'in capitals': (text) => `NO SUCH CUSTOMER: ${text.toUpperCase()}`,
  'without accents': (text) => `no such customer: ${text.normalize('NFD').replaceAll(/\p{M}/gu, '')}`,
  'as JSON in an address': (text) => `GET /?q=${encodeURIComponent(JSON.stringify({ text }))} failed`,
}

describe('a quotation in an error', () => {
  test.each(Object.entries(QUOTES))('%s', async (_, quote) => {
    const shown = await shownOf(quote)
    for (const part of ['yes', 'brien', 'mega', 'say']) expect(shown.toLowerCase()).not.toContain(part)
    // The stack is not shown.
    expect(shown).not.toContain('.test.ts')
  })

  test('in base64, whole or cut, with and without digits', async () => {
    const note = 'Meet Erika at noon'
    const encoded = Buffer.from(note).toString('base64')
    const word = Buffer.from('Erika').toString('base64url')
    const inJson = Buffer.from(JSON.stringify({ note })).toString('base64')
    const said = [encoded, encoded.slice(2, 12), word, inJson.slice(3, 30), 'customer']
    const shown = await shownOf(() => `no page for ${said.join(' or ')}`, { note })
    expect(shown).toContain('Error: no page for ••• or')
    expect(shown).toContain('customer')
    for (const part of said.slice(0, -1)) expect(shown).not.toContain(part)
  })

  test('in base32, whole or cut, and a secret in it that is not of the body', async () => {
    // Of 'Erika' and 'noon', by hand.
    const said = ['IVZGS23B', 'ivzgs23b', 'NZXW63Q=', 'VZGS23B', 'JBSWYPDPEHPKPXPN']
    const shown = await shownOf(() => `no page for ${said.join(' or ')}, ECONNREFUSED`, { note: 'Meet Erika at noon' })
    expect(shown).toContain('Error: no page for ••• or')
    expect(shown).toContain('ECONNREFUSED')
    for (const part of said) expect(shown).not.toContain(part)
  })

  test('short values do not match by chance: the class and words that are not in the body remain', async () => {
    const shown = await shownOf(() => 'customer Al cannot pay, of all', { name: 'Al', city: 'pay' })
    expect(shown).toContain('Error: customer')
    expect(shown).toContain('cannot')
    for (const part of ['Al ', 'pay,']) expect(shown).not.toContain(part)
  })

  test('a local number is masked, and words of the error itself are shown', async () => {
    const shown = await shownOf(() => 'TypeError: no page for 0711 23, nor 0711-234567 (code 42)', {
      to: '+49711234567',
    })
    expect(shown).toContain('no page for •••')
    expect(shown).toContain('(code 42)')
    for (const part of ['0711', '234567']) expect(shown).not.toContain(part)
  })

  test('of a body of many texts, too', async () => {
    const notes = Array.from({ length: 1_200 }, (_, at) => `private-${at}`)
    const shown = await shownOf(() => `failed for private-77 and others, see private-1111`, { notes })
    expect(shown).toContain('Error: failed for')
    expect(shown).not.toContain('private')
  })
})

test('two hundred dead letters of many texts do not block other work', async () => {
  const { get, payment, receiver } = await inspecting({ retry: { attempts: 1 } })
  const notes = Array.from({ length: 1_200 }, (_, at) => `a private note ${at}`)
  receiver.on('payment', ({ data }) => {
    throw new Error(JSON.stringify(data))
  })
  for (let at = 0; at < 200; at += 1) await post(payment, { id: `p-${at}`, notes })
  await receiver.drain()
  let turns = 0
  const counting = setInterval(() => (turns += 1), 1)
  const { status, body } = await get('api/dead-letters?limit=200', READ)
  clearInterval(counting)
  expect(status).toBe(200)
  expect(as<DeadLetterList>(body).items).toHaveLength(200)
  expect(JSON.stringify(body)).not.toContain('private')
  expect(turns).toBeGreaterThan(3)
})

test('a body of 3,000 levels is shown up to the size limit', async () => {
  const { get, payment, receiver } = await inspecting()
  for (const name of ['in', 'authKey'])
    await post(payment, `{"id":"deep","${name}":${'['.repeat(3_000)}1${']'.repeat(3_000)},"after":[]}`)
  await receiver.drain()
  const { items } = as<EventList>((await get('api/events')).body)
  expect(items).toHaveLength(2)
  for (const { id } of items)
    for (const may of ['read', 'reveal']) expect((await get(`api/events/${id}`, { 'x-may': may })).status).toBe(200)
})

test('concurrent searches queue, and are asked to retry beyond the queue’s limit', async () => {
  const { get } = await inspecting({ store: sqliteStore(ownFile()) })
  const answers = await Promise.all(Array.from({ length: 60 }, () => get('api/events?q=unknown', READ)))
  const busy = answers.filter(({ status }) => status === 503)
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(22)
  expect(busy.length).toBeGreaterThan(0)
  for (const { body, response } of busy) {
    expect(body).toMatchObject({ error: { code: 'inspector_busy' } })
    expect(response.headers.get('retry-after')).toBe('3')
  }
  expect((await get('api/events?q=unknown', READ)).status).toBe(200)
})
