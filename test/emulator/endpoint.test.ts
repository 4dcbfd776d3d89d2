/** Contract, service.md#send-a-message, #states-and-transitions, #send-failures. */
import express from 'express'
import { createEmulator } from 'messaging-webhooks/emulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serve } from '../support/receiving.ts'
import { connect } from '../support/wire.ts'
import { API_KEY, AT_ONCE, call, emulating, sendFrom, SHOP } from './emulating.ts'

const DELIVERED = '999100000000'
const NO_CHANNEL = 'The channel field must be one of sms, chat-app, premium, premium-subscription, airtime.'
const NO_CREDITS = 'Error. Insufficient balance. Top up and try again.'

describe('a send that is accepted', () => {
  test('has the fields of the contract, the code as text', async () => {
    const { endpoint } = await emulating()
    const { status, body } = await sendFrom(endpoint, { to: `+${DELIVERED}`, type: 'bulk', campaign: 'Spring' })
    expect(status).toBe(200)
    expect(body).toEqual({
      messageData: { messages: 1 },
      recipients: [
        {
          messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          to: `+${DELIVERED}`,
          status: 'accepted',
          statusCode: '11',
          messagePart: 1,
          type: 'bulk',
        },
      ],
    })
  })

  test.each([
    ['a list', { to: [DELIVERED, '999200000000', '999400000012'] }],
    ['commas', { to: `${DELIVERED}, 999200000000,999400000012` }],
  ])('takes several recipients as %s, each with its own status', async (_, fields) => {
    const { endpoint } = await emulating()
    const { status, body } = await sendFrom(endpoint, fields)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      messageData: { messages: 2 },
      recipients: [{ statusCode: '11' }, { statusCode: '11' }, { statusCode: '12', status: 'unsupported_number' }],
    })
    const ids = (body as { recipients: { messageId: string }[] }).recipients.map(({ messageId }) => messageId)
    expect(new Set(ids).size).toBe(3)
  })

  test('takes several recipients as a repeated form field and query parameter', async () => {
    const { endpoint } = await emulating()
    const fields: [string, string][] = [
      ['project', SHOP],
      ['apiKey', API_KEY],
      ['message', 'Hi'],
      ['to', DELIVERED],
      ['to', '999200000000'],
    ]
    const expected = { status: 200, body: { messageData: { messages: 2 } } }
    expect(await call(endpoint, { method: 'POST', body: new URLSearchParams(fields) })).toMatchObject(expected)
    expect(await call(`${endpoint}?${new URLSearchParams(fields).toString()}`)).toMatchObject(expected)
  })

  test('has an entry for each part of a long text, with one id', async () => {
    const { endpoint, emulator } = await emulating({ balance: 10 })
    const { body } = await sendFrom(endpoint, { to: DELIVERED, message: 'x'.repeat(161) })
    const { recipients } = body as { recipients: { messageId: string; messagePart: number }[] }
    expect(recipients.map(({ messagePart }) => messagePart)).toEqual([1, 2])
    expect(recipients[0]?.messageId).toBe(recipients[1]?.messageId)
    expect(emulator.projects()).toMatchObject([{ balance: 8, sentToday: 2 }])
  })

  test.each([
    ['x'.repeat(160), 1],
    ['x'.repeat(307), 3],
    ['€'.repeat(81), 2],
    ['ж'.repeat(71), 2],
    ['😀'.repeat(36), 2],
  ])('counts the parts of %s as %i', async (message, parts) => {
    const { endpoint } = await emulating()
    expect((await sendFrom(endpoint, { to: DELIVERED, message })).body).toMatchObject({
      messageData: { messages: parts },
    })
  })

  test('of airtime has the wrapper data, and costs its amount', async () => {
    const { endpoint, emulator } = await emulating({ balance: 50 })
    const answer = await sendFrom(endpoint, { to: DELIVERED, channel: 'airtime', amount: 20 })
    expect(answer).toMatchObject({ status: 200, body: { data: { messages: 1 }, recipients: [{ statusCode: '11' }] } })
    expect(answer.body).not.toHaveProperty('messageData')
    expect(emulator.projects()).toMatchObject([{ balance: 30 }])
  })

  test('for a future time is scheduled (14), for a past one accepted; by chat-app it may be queued (13)', async () => {
    const { endpoint } = await emulating({}, { clock: () => 1_000_000 })
    expect((await sendFrom(endpoint, { to: DELIVERED, scheduledFor: 1_001 })).body).toMatchObject({
      messageData: { messages: 1 },
      recipients: [{ status: 'scheduled', statusCode: '14' }],
    })
    expect((await sendFrom(endpoint, { to: DELIVERED, scheduledFor: 1_000 })).body).toMatchObject({
      recipients: [{ status: 'accepted', statusCode: '11' }],
    })
    expect((await sendFrom(endpoint, { to: '999300000003', channel: 'chat-app' })).body).toMatchObject({
      messageData: { messages: 1 },
      recipients: [{ status: 'queued', statusCode: '13' }],
    })
  })
})

describe('a send that is refused entirely', () => {
  const unsupported = { to: '12', status: 'unsupported_number', statusCode: '12' }
  const FAILURES = {
    balance: { shop: { balance: 0 }, code: '22', status: 'insufficient_balance' },
    volume: { shop: { volumeLimit: 0 }, code: '23', status: 'volume_limit' },
    number: { shop: {}, code: '12', status: 'unsupported_number' },
  }
  const text = { balance: NO_CREDITS, volume: 'Error. Volume limit exceeded.', number: 'Error. Number not supported.' }
  const premium = (key: keyof typeof text) => ({ status: 'refused', description: text[key] })
  /** By hand from the contract's table of envelopes; which of several forms is used is ours. */
  const ENVELOPES: Readonly<Record<string, (key: keyof typeof text) => object>> = {
    sms: (key) => ({ messageData: { message: text[key] } }),
    'chat-app': (key) => (key === 'balance' ? { MessageData: { Error: text[key] } } : { error: text[key] }),
    premium,
    'premium-subscription': premium,
    airtime: (key) =>
      key === 'balance' ? { data: { message: text[key] } } : { status: 'refused', errorMessage: text[key] },
  }
  const ROWS = Object.keys(ENVELOPES).flatMap((channel) =>
    (['balance', 'volume', 'number'] as const).map((failure) => ({ channel, failure })),
  )

  test.each(ROWS)('$channel, $failure: its envelope, and by SMS the code', async ({ channel, failure }) => {
    const { shop, code, status } = FAILURES[failure]
    const { endpoint, emulator } = await emulating(shop)
    const to = failure === 'number' ? '12' : DELIVERED
    const answer = await sendFrom(endpoint, { to, channel, amount: 5 })
    expect(answer.status).toBe(400)
    const { recipients, ...envelope } = answer.body as { recipients?: object[] }
    expect(envelope).toEqual(ENVELOPES[channel]?.(failure))
    // The contract lists the codes for SMS alone.
    if (channel === 'sms') expect(recipients).toMatchObject([{ to, status, statusCode: code }])
    else expect(recipients).toBeUndefined()
    expect(emulator.projects()).toMatchObject([{ sentToday: 0 }])
  })

  const OTHERS = Object.keys(ENVELOPES).filter((channel) => channel !== 'sms')

  test.each(OTHERS)('by %s one unacceptable recipient refuses all', async (channel) => {
    const { endpoint, emulator, idle } = await emulating({ balance: 2, volumeLimit: 4 })
    const send = (to: readonly string[]) => sendFrom(endpoint, { to, channel, amount: 1 })
    expect(await send([DELIVERED, '12'])).toEqual({ status: 400, body: ENVELOPES[channel]?.('number') })
    expect(await send([DELIVERED, DELIVERED, DELIVERED])).toEqual({
      status: 400,
      body: ENVELOPES[channel]?.('balance'),
    })
    expect(emulator.projects()).toMatchObject([{ balance: 2, sentToday: 0 }])
    expect((await send([DELIVERED, DELIVERED])).status).toBe(200)
    emulator.configure({ balance: 100 })
    expect(await send([DELIVERED, DELIVERED, DELIVERED])).toEqual({ status: 400, body: ENVELOPES[channel]?.('volume') })
    expect(emulator.projects()).toMatchObject([{ balance: 100, sentToday: 2 }])
    await idle()
    expect(emulator.report().sends.recipients).toEqual({ accepted: 2 })
  })

  test.each(['', '123456', '1234567890123456', '+25471100000a', '٢٥٤٧١١٠٠٠٠٠٠'])(
    '%j is not a supported number',
    async (to) => {
      const { endpoint } = await emulating()
      const { body } = await sendFrom(endpoint, { to: [DELIVERED, to || '-'] })
      expect(body).toMatchObject({ recipients: [{ statusCode: '11' }, { ...unsupported, to: to || '-' }] })
    },
  )

  test('accepts recipients one by one while the balance suffices', async () => {
    const { endpoint, emulator } = await emulating({ balance: 2 })
    const { status, body } = await sendFrom(endpoint, { to: [DELIVERED, DELIVERED, DELIVERED] })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      messageData: { messages: 2 },
      recipients: [{ statusCode: '11' }, { statusCode: '11' }, { statusCode: '22' }],
    })
    expect(emulator.projects()).toMatchObject([{ balance: 0 }])
  })

  test('resets the volume limit each day', async () => {
    const day = 86_400_000
    let now = day * 20_000 + 1
    const { endpoint } = await emulating({ volumeLimit: 1 }, { clock: () => now })
    expect((await sendFrom(endpoint, { to: DELIVERED })).status).toBe(200)
    expect((await sendFrom(endpoint, { to: DELIVERED })).status).toBe(400)
    now += day
    expect((await sendFrom(endpoint, { to: DELIVERED })).status).toBe(200)
  })
})

describe('a request with a bad field', () => {
  test.each([
    [{ message: undefined }, 'The message field is required.'],
    [{ to: undefined }, 'The to field is required.'],
    [{ to: { number: DELIVERED } }, 'The to field must be a string or a list of strings.'],
    [{ to: Array.from({ length: 1_001 }, () => DELIVERED) }, 'The to field may have at most 1000 recipients.'],
    [{ message: 'x'.repeat(10_001) }, 'The message field may have at most 10000 characters.'],
    [{ scheduledFor: 'tomorrow' }, 'The scheduledFor field must be a number of at least 0.'],
    [{ channel: 'pigeon' }, NO_CHANNEL],
  ])('%j is answered 400 in the SMS envelope', async (fields, text) => {
    const { endpoint } = await emulating()
    expect(await sendFrom(endpoint, { to: DELIVERED, ...fields })).toEqual({
      status: 400,
      body: { messageData: { message: `Error. Invalid request. ${text}` } },
    })
  })

  test('gets the envelope of its channel on the other channels', async () => {
    const { endpoint } = await emulating()
    const text = 'Error. Invalid request. The to field is required.'
    const of = async (channel: string) => (await sendFrom(endpoint, { channel, amount: 1 })).body
    expect(await of('chat-app')).toEqual({ message: text, errors: { to: ['The to field is required.'] } })
    expect(await of('premium')).toEqual({ status: 'invalid_request', description: text })
    expect(await of('airtime')).toEqual({ status: 'invalid_request', errorMessage: text })
  })
})

describe('a request that cannot be read', () => {
  const bearer = { authorization: `Bearer ${API_KEY}` }

  test.each(['{', '[]', ''])('body %j: 400 with a key, 401 without', async (body) => {
    const { endpoint } = await emulating()
    const of = (headers: Record<string, string>) =>
      call(endpoint, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
    expect(await of(bearer)).toEqual({
      status: 400,
      body: { messageData: { message: 'Error. Unknown project.' } },
    })
    expect(await of({})).toEqual({ status: 401, body: { message: 'Unauthenticated.' } })
  })

  test('is not counted when its client disconnects, and the next one is served', async () => {
    const { endpoint, emulator } = await emulating()
    const { socket, write } = await connect(endpoint)
    write('POST /v1/messaging HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"project":')
    await new Promise((resolve) => setImmediate(resolve))
    socket.resetAndDestroy()
    expect((await sendFrom(endpoint, { to: DELIVERED })).status).toBe(200)
    expect(emulator.report().sends).toMatchObject({ requests: 1, answers: { 200: 1 } })
  })

  test('gets 413 for its size, 405 for its method, 404 for its path', async () => {
    const { url, endpoint } = await emulating()
    expect((await sendFrom(endpoint, { to: DELIVERED, message: 'x'.repeat(1_100_000) })).status).toBe(413)
    const response = await fetch(endpoint, { method: 'PUT' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST'])
    for (const path of ['/', '/api/v2/messaging', '/api/v1/messaging/more'])
      expect((await call(url + path)).status).toBe(404)
  })
})

describe('mounted', () => {
  const shop = { name: SHOP, apiKey: API_KEY }

  test.each(['alone', 'behind express.json()'])('in Express, %s, it passes other paths on', async (how) => {
    const emulator = createEmulator({ projects: [shop], network: AT_ONCE })
    onTestFinished(() => emulator.close())
    const app = express()
    if (how !== 'alone') app.use(express.json(), express.urlencoded())
    app.use('/service', emulator.app)
    app.get('/service/other', (_request, response) => void response.json({ other: true }))
    const url = await serve(app)
    expect((await sendFrom(`${url}service/v1/messaging`, { to: DELIVERED })).status).toBe(200)
    const form = new URLSearchParams({ project: SHOP, apiKey: API_KEY, to: DELIVERED, message: 'Hi' })
    expect((await call(`${url}service/v1/messaging`, { method: 'POST', body: form })).status).toBe(200)
    expect((await call(`${url}service/other`)).body).toEqual({ other: true })
  })

  test('answers 503 once it is closed', async () => {
    const emulator = createEmulator({ projects: [shop] })
    const url = await serve(emulator.app)
    await emulator.close()
    expect((await sendFrom(`${url}v1/messaging`, { to: DELIVERED })).status).toBe(503)
  })
})
