/** Events in the inspector: lists, searches, one event, a message's timeline; without texts and bodies for readers without `reveal`. */
import { memoryStore, PROBLEMS } from 'messaging-webhooks'
import { callback, deliver } from 'messaging-webhooks/testing'
import type { AuditEntry } from 'messaging-webhooks/inspector'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { logging } from '../support/logging.ts'
import { AUTH_KEY, CREDENTIALS, post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import type { EventDetail, EventList, EventRow, MessageDetail, Problem } from '../../src/inspector/routes.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { ownFile, ownFolder } from '../support/own-folder.ts'
import { storeAround } from '../support/store-around.ts'
import type { MessageStore, Query } from '../../src/inbox/store.ts'

const PHONE = '+4915112345678'
const READ = { 'x-may': 'read' }
const NOW = Math.floor(Date.now() / 1_000)

function report(messageId: string, status: string, more: object = {}) {
  return { messageId, status, channel: 'sms', network: 'A', project: 'Shop', timestamp: NOW, ...more }
}

function chatReport(messageId: string, status: string, more: object = {}) {
  return { project: 'Shop', channel: 'chat', statuses: { message_id: messageId, status, recipient: PHONE, ...more } }
}

const options = { networks: { A: 'carrierA', B: 'carrierB' } } as const

describe.each(onEachStore)('on %s', (_, make) => {
  test('lists events newest first, filters them, and finds them by message id, recipient and their own id', async () => {
    const { get, status, payment, receiver } = await inspecting({ ...options, store: make(), retry: { attempts: 1 } })
    receiver.on('payment', () => Promise.reject(new Error('no')))
    await post(status, report('m-1', 'success'))
    await post(status, chatReport('m-2', 'failed', { recipient: '+4915199999999' }))
    await post(status, report('m-3', 'delivered', { network: 'B' }))
    await post(payment, { id: 'p-1', amount: 5 })
    const list = async (query: string) => as<EventList>((await get(`api/events?${query}`)).body)
    const ids = async (query: string) => (await list(query)).items.map(({ messageId, kind }) => messageId ?? kind)
    await expect.poll(() => ids('outcome=dead')).toEqual(['payment'])
    expect(new Set(await ids(''))).toEqual(new Set(['payment', 'm-3', 'm-2', 'm-1']))
    expect(await ids('type=message.failed')).toEqual(['m-2'])
    expect(await ids('type=payment')).toEqual(['payment'])
    expect(await ids('carrier=carrierB')).toEqual(['m-3'])
    expect(await ids('project=Unknown')).toEqual([])
    expect(await ids('q=m-2')).toEqual(['m-2'])
    expect(await ids(`q=${encodeURIComponent('+4915199999999')}`)).toEqual(['m-2'])
    const [first] = (await list('q=m-1')).items
    expect(await ids(`q=${first?.id ?? ''}`)).toEqual(['m-1'])
    expect(await ids('outcome=waiting')).toEqual([])
    const page = await list('limit=2')
    expect(page.items).toHaveLength(2)
    expect((await list(`limit=2&after=${encodeURIComponent(page.next ?? '')}`)).items).toHaveLength(2)
    for (const query of ['limit=0', 'limit=x', 'type=nothing', 'outcome=late', 'from=yesterday']) {
      const { status: answered, body } = await get(`api/events?${query}`)
      expect([answered, as<Problem>(body).error.code]).toEqual([400, 'query_invalid'])
    }
    // The same for users, by name.
    expect(await receiver.events.list({ types: ['message.failed'] })).toMatchObject({
      items: [{ type: 'message.failed', report: { messageId: 'm-2', recipient: '+4915199999999' } }],
    })
    expect(await receiver.events.get(first?.id ?? '')).toMatchObject({ id: first?.id, project: 'Shop' })
    expect(await receiver.events.get('0'.repeat(32))).toBeUndefined()
    expect(await receiver.events.ofMessage('m-3')).toMatchObject([{ type: 'message.delivered' }])
    await expect(receiver.events.list({ states: [] })).rejects.toThrow('non-empty')
  })
})

test('without `reveal`, shortens numbers and leaves out texts and bodies, also those of errors', async () => {
  const { get, status, payment, receiver } = await inspecting({
    ...options,
    store: sqliteStore(ownFile()),
    retry: { attempts: 1 },
  })
  receiver.on('payment', (event) => {
    throw new TypeError(`cannot book ${JSON.stringify(event.data)} for Erika Mustermann, call ${PHONE}`)
  })
  await post(status, chatReport('m-1', 'failed', { error: `no answer from ${PHONE}` }))
  await post(payment, { id: 'p-1', payer: 'Erika Mustermann', phone: PHONE, note: { [PHONE]: 'secret words' } })
  await receiver.drain()
  const { items } = as<EventList>((await get('api/events', READ)).body)
  const paths = [
    'api/overview',
    'api/events',
    'api/dead-letters',
    'api/messages/m-1',
    ...items.map(({ id }) => `api/events/${id}`),
  ]
  for (const path of paths) {
    const masked = await get(path, READ)
    expect(masked.status).toBe(200)
    const text = JSON.stringify(masked.body)
    for (const secret of [PHONE, '4915112345678', 'Erika', 'secret words', 'cannot book', 'no answer', AUTH_KEY])
      expect(text).not.toContain(secret)
  }
  expect(items.find(({ messageId }) => messageId === 'm-1')?.recipient).toBe('•••78')
  const dead = items.find(({ kind }) => kind === 'payment')
  expect(dead).toMatchObject({ outcome: 'dead', attempts: 1 })
  // The class of an error quotes no text of a person.
  expect(dead?.error).toBe('TypeError')
  // With it, everything except the key.
  const shown = as<EventDetail>((await get(`api/events/${dead?.id ?? ''}`)).body)
  expect(shown.payload).toContain('Erika Mustermann')
  expect(shown.payload).not.toContain('authKey')
  expect(shown.attempts).toMatchObject([{ number: 1, outcome: 'failed', handlers: [{ outcome: 'failed' }] }])
  const without = as<EventDetail>((await get(`api/events/${dead?.id ?? ''}`, READ)).body)
  // The request as a command has no key.
  expect(shown.curl).toContain('"authKey":"<authKey>"')
  expect(shown.curl).toContain('x-service-signature: t=<time>,v1=<signature>')
  expect([without.payload, without.curl, without.bytes]).toEqual([undefined, undefined, shown.bytes])
  expect(without.attempts).toMatchObject([{ handlers: [{ outcome: 'failed', error: 'TypeError' }] }])
})

test('the log and an unreadable event give the same text for its problem, with the likely cause', async () => {
  const { logger, lines } = logging()
  const { get, status, receiver } = await inspecting({ logger, store: sqliteStore(ownFile()) })
  await post(status, '[]')
  await receiver.drain()
  const [row] = as<EventList>((await get('api/events')).body).items
  const { problem = '' } = as<EventDetail>((await get(`api/events/${row?.id ?? ''}`)).body)
  expect(problem).toBe(PROBLEMS.not_an_object.join(' '))
  const said = lines.find(({ fields }) => fields['code'] === 'unrecognized_unhandled')
  expect(said?.text).toContain(problem)
})

test('finds an event by the message in its address, in any process', async () => {
  const queries: Query[] = []
  const watched = (open: MessageStore): Partial<MessageStore> => ({
    scan(query) {
      queries.push(query)
      return open.scan(query)
    },
  })
  const store = storeAround(sqliteStore(ownFile()), {}, watched)
  const { get, status, payment } = await inspecting({ ...options, store })
  await post(status, report('m-1', 'success'))
  await post(payment, { id: 'p-1' })
  const { items } = as<EventList>((await get('api/events')).body)
  const [payed, delivered] = items
  const wholeLooks = async (address: string) => {
    queries.length = 0
    expect((await get(address)).status).toBe(200)
    return queries.filter((query) => query.of === 'events' && query.key === undefined).length
  }
  const path = `api/events/${delivered?.id ?? ''}`
  expect(await wholeLooks(`${path}?of=m-1&project=Shop`)).toBe(0)
  expect(await wholeLooks(`${path}/raw?of=m-1&project=Shop`)).toBe(0)
  expect(await wholeLooks(`api/events/${payed?.id ?? ''}`)).toBe(0)
  // An address that was shortened, or that names another event.
  for (const address of [path, `${path}?of=m-2`]) expect((await get(address)).status).toBe(200)
})

test('shows a body exactly, cut at 16 KiB, and lets callers with the right download it whole', async () => {
  const { get, payment } = await inspecting({ store: sqliteStore(ownFile()) })
  const body = `{"id":12345678901234567890,"small":1.50,"e":1e400,"authKey":"${AUTH_KEY}","text":"</script>${'x'.repeat(40_000)}"}`
  await post(payment, body)
  const [row] = as<EventList>((await get('api/events')).body).items
  const path = `api/events/${row?.id ?? ''}`
  const { payload, bytes } = as<EventDetail>((await get(path)).body)
  expect(payload).toMatch(
    /^\{\n {2}"id": 12345678901234567890,\n {2}"small": 1\.50,\n {2}"e": 1e400,\n {2}"text": "<\/script>x/,
  )
  expect(payload?.length).toBeLessThan(16_500)
  expect(bytes).toBe(body.length)
  const whole = await get(`${path}/raw`)
  expect(whole.response.headers.get('content-disposition')).toMatch(/^attachment; filename="[0-9a-f]{32}\.json"$/)
  expect(whole.response.headers.get('content-type')).toBe('application/octet-stream')
  expect(whole.body).toBe(body.replace(AUTH_KEY, '*'.repeat(AUTH_KEY.length)))
  expect((await get(`${path}/raw`, READ)).status).toBe(403)
  expect((await get(`${path}/raw`, { 'x-may': 'write' })).status).toBe(403)
  expect((await get('api/events/0123')).status).toBe(404)
  expect((await get(`api/events/${'0'.repeat(32)}/raw`)).status).toBe(404)
})

test('a timeline has each report in order and by arrival, with repetitions, attempts and the reason for its position', async () => {
  const { get, status, receiver } = await inspecting({
    ...options,
    store: sqliteStore(ownFile()),
    retry: { initialDelayMs: 1 },
  })
  let fails = true
  receiver.on('message.delivered', function confirm() {
    if (!fails) return
    fails = false
    throw new Error('not now')
  })
  const now = Math.floor(Date.now() / 1_000)
  receiver.onAny(() => new Promise((resolve) => setImmediate(resolve)))
  await post(status, report('m-1', 'success', { timestamp: now }))
  await post(status, report('m-1', 'success', { timestamp: now }))
  await receiver.drain()
  // A carrier that reports late.
  await post(status, report('m-1', 'network_failure', { timestamp: now - 60 }))
  await receiver.drain()
  const { body } = await get('api/messages/m-1')
  const message = as<MessageDetail>(body)
  expect(message).toMatchObject({
    messageId: 'm-1',
    project: 'Shop',
    latest: { type: 'message.delivered', status: 'success' },
    finals: ['message.failed', 'message.delivered'],
  })
  const [early, late] = message.entries
  expect(early).toMatchObject({
    arrival: 2,
    event: { late: true, proof: 'both' },
  })
  expect(early?.why).toContain('Late')
  expect(late).toMatchObject({ arrival: 1, event: { late: false } })
  expect(late?.duplicatesAt).toHaveLength(1)
  expect(message.order).toContain('their own time')
  expect(late?.attempts).toMatchObject([
    {
      number: 1,
      outcome: 'failed',
      handlers: [
        { name: 'confirm', outcome: 'failed', error: expect.stringContaining('not now') as string },
        { name: 'any event', outcome: 'succeeded' },
      ],
    },
    { number: 2, outcome: 'succeeded', handlers: [{ name: 'confirm', outcome: 'succeeded' }] },
  ])
  expect((await get('api/messages/unknown')).status).toBe(404)
})

test('for a chat-app message it gives the reorder wait for a missing step', async () => {
  const { get, status, receiver } = await inspecting({ ordering: { gapTimeoutMs: 20 }, store: sqliteStore(ownFile()) })
  await post(status, chatReport('c-1', 'delivered'))
  await receiver.drain()
  await post(status, chatReport('c-1', 'read'))
  await receiver.drain()
  const { entries, order } = as<MessageDetail>((await get('api/messages/c-1')).body)
  expect(entries).toMatchObject([{ gap: { missing: 'message.sent', waitedForMs: 20, filled: false } }, {}])
  // Once, and not at each report.
  expect(order).toContain('ordered by step')
  expect(entries.map(({ why }) => why)).toEqual([undefined, undefined])
  // A late report was dispatched at once.
  await post(status, chatReport('c-2', 'read'))
  await receiver.drain()
  await post(status, chatReport('c-2', 'delivered'))
  await receiver.drain()
  const late = as<MessageDetail>((await get('api/messages/c-2')).body).entries[0]
  expect(late).toMatchObject({ event: { type: 'late', status: 'delivered' } })
  expect(late?.gap).toBeUndefined()
})

test('exports a list as CSV or JSON, with its filters and the reader’s rights, and audits the export', async () => {
  const entries: AuditEntry[] = []
  const { get, status, receiver } = await inspecting(
    { ...options, store: sqliteStore(ownFile()), retry: { attempts: 1 } },
    { audit: (entry) => void entries.push(entry) },
  )
  receiver.on('message.failed', () => Promise.reject(new Error(`=cmd("a", "b") for ${PHONE}`)))
  await post(status, chatReport('m-1', 'failed'))
  await post(status, report('m-2', 'success'))
  await receiver.drain()
  const csv = await get('api/events.csv?outcome=dead')
  expect(csv.response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(csv.response.headers.get('content-disposition')).toMatch(/^attachment; filename="events-[\dT-]+\.csv"$/)
  const [head = '', row = '', ...rest] = String(csv.body).split('\r\n')
  expect(rest).toEqual([''])
  expect(head).toMatch(/^receivedAt,type,outcome,project,messageId,/)
  expect(row).toContain(`message.failed,dead,Shop,m-1,,${PHONE},`)
  // A spreadsheet would evaluate such a cell as a formula; quotes are doubled.
  expect(row).toMatch(/"Error: =cmd\(""a"", ""b""\)/)
  const withoutTexts = String((await get('api/events.csv', READ)).body)
  for (const text of [PHONE.slice(1), 'cmd']) expect(withoutTexts).not.toContain(text)
  const json = as<EventRow[]>((await get('api/events.json')).body)
  expect(json.map(({ messageId }) => messageId)).toEqual(['m-2', 'm-1'])
  expect((await get('api/events.csv?outcome=none')).status).toBe(400)
  expect(entries).toMatchObject([
    { what: 'events.export', who: 'Ada', outcome: 'done', result: { events: 1 } },
    { what: 'events.export', result: { events: 2 } },
    { what: 'events.export', result: { events: 2 } },
  ])
})

test('lists events that the store refuses beside the dead letters', async () => {
  const store = faultyStore(memoryStore())
  store.refuses = ({ raw }) => raw.includes('poison')
  const { receiver, get } = await inspecting({ store, spool: ownFolder() })
  await receiver.start()
  const send = (messageId: string) =>
    deliver(receiver.middleware('status'), callback.smsDelivery({ messageId }), CREDENTIALS)
  for (const messageId of ['a', 'poison', 'b']) expect((await send(messageId)).status).toBe(204)
  const refused = async () => as<{ refused: unknown }>((await get('api/dead-letters')).body).refused
  await expect
    .poll(refused, { timeout: 30_000 })
    .toMatchObject([
      { messageId: 'poison', type: 'message.delivered', error: expect.stringContaining('Bad data') as string },
    ])
})
