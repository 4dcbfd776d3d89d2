/** Answers in each accepted form, and invalid answers. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SendError } from 'messaging-webhooks/client'
import { ACCEPTED, answering, clientOf, DELIVERED, failing } from './answering.ts'

const HELLO = { to: DELIVERED, message: 'Hello' }

test.each([
  ['codes as numbers', [{ messageId: 'm-1', to: DELIVERED, statusCode: 11 }], 'accepted', 11],
  ['ids and numbers as numbers', [{ messageId: 1, to: 999100000000, statusCode: '14' }], 'accepted', 14],
  ['the word alone', [{ messageId: 'm-1', to: DELIVERED, status: 'queued' }], 'accepted', 13],
  ['a code of reports', [{ messageId: 'm-1', to: DELIVERED, statusCode: '17' }], 'unknown', 17],
  ['an unknown code', [{ messageId: 'm-1', to: DELIVERED, statusCode: '99' }], 'unknown', 99],
  ['a code that is not a number', [{ messageId: 'm-1', to: DELIVERED, statusCode: '1e1' }], 'unknown', undefined],
  ['no fields at all', [{}], 'unknown', undefined],
  ['no object', [null], 'unknown', undefined],
])('%s', async (_, recipients, outcome, code) => {
  const { url } = await answering(() => ({ body: { messageData: { messages: '1' }, recipients } }))
  const sent = await clientOf(url).send(HELLO)
  expect(sent).toMatchObject({ messageCount: 1, recipients: [{ outcome, code, to: DELIVERED }] })
  expect(sent.kind).toBe(outcome === 'accepted' ? 'accepted' : 'partial')
  expect(sent.messages).toHaveLength(sent.recipients[0]?.messageId === undefined ? 0 : 1)
})

test.each(['9007199254740992', '9007199254740993', '123456789012345678901234567890', '-9007199254740993'])(
  'a numeric message id keeps its digits: %s',
  async (messageId) => {
    const { url } = await answering(() => ({
      body: `{"messageData":{"messages":1},"recipients":[{"messageId":${messageId},"to":${DELIVERED},"statusCode":11}]}`,
    }))
    expect(await clientOf(url).send(HELLO)).toMatchObject({
      kind: 'accepted',
      messages: [{ messageId, to: DELIVERED }],
      recipients: [{ messageId, to: DELIVERED }],
    })
  },
)

test('both wrappers, and recipients within one', async () => {
  for (const body of [
    ACCEPTED,
    { data: { messages: 1 }, recipients: ACCEPTED.recipients },
    { data: { messages: 1, recipients: ACCEPTED.recipients } },
  ]) {
    const { url } = await answering(() => ({ body }))
    expect(await clientOf(url).send(HELLO)).toMatchObject({
      kind: 'accepted',
      messageCount: 1,
      messages: [{ messageId: 'm-1', to: DELIVERED }],
    })
  }
})

test('the parts of a message are one recipient, numbered or not; an entry without an id is never a part', async () => {
  const entry = { messageId: 'm-1', to: DELIVERED, statusCode: '11' }
  const parts = async (...recipients: readonly object[]) => {
    const { url } = await answering(() => ({ body: { messageData: { messages: 1 }, recipients } }))
    const sent = await clientOf(url).send(HELLO)
    return sent.recipients.map((recipient) => recipient.parts)
  }
  expect(await parts(entry, entry, entry)).toEqual([3])
  expect(await parts({ ...entry, messagePart: 2 }, { ...entry, messagePart: '1' })).toEqual([2])
  // One entry with the number of parts.
  expect(await parts({ ...entry, messagePart: 4 })).toEqual([4])
  expect(await parts({ to: DELIVERED, statusCode: 11 }, { to: DELIVERED, statusCode: 11 })).toEqual([1, 1])
})

describe('a number in its national form', () => {
  const asked = ['+254711000001', '254722000002', '447700900003']
  const accepted = (...numbers: readonly string[]) =>
    answering(() => ({
      body: {
        messageData: { messages: numbers.length },
        recipients: numbers.map((to, nth) => ({ messageId: `m-${nth}`, to, statusCode: 11 })),
      },
    }))

  test('is that of the only one, listed or alone', async () => {
    const { url } = await accepted('0711000001')
    const { send, sendAll } = clientOf(url)
    const [only = ''] = asked
    for (const to of [only, [only]])
      expect(await send({ to, message: 'Hello' })).toMatchObject({
        kind: 'accepted',
        messages: [{ messageId: 'm-0', to: only }],
        recipients: [{ outcome: 'accepted', to: '0711000001' }],
      })
    const { outcomes } = await sendAll({ to: [only], message: 'Hello' })
    expect(outcomes).toMatchObject([{ to: only, outcome: 'accepted', recipients: [{ messageId: 'm-0' }] }])
  })

  test('is that of the one of a list that ends so', async () => {
    const { url } = await accepted('722 000 002', '07700900003', '0711-000001')
    const { send, sendAll } = clientOf(url)
    const { kind, messages } = await send({ to: asked, message: 'Hello' })
    expect([kind, messages.map(({ to }) => to)]).toEqual(['accepted', [asked[1], asked[2], asked[0]]])
    const { totals, outcomes } = await sendAll({ to: asked, message: 'Hello' })
    expect(totals).toMatchObject({ accepted: 3, unknown: 0 })
    expect(outcomes.flatMap(({ recipients }) => recipients.map(({ messageId }) => messageId))).toEqual([
      'm-2',
      'm-0',
      'm-1',
    ])
  })

  test.each([
    ['two end so', ['254711000001', '255711000001'], '0711000001'],
    ['too few digits are left', ['254711000001', '254722000002'], '00001'],
    ['it is another number', ['254711000001', '254722000002'], '0733000003'],
  ])('is unknown if %s', async (_, to, answered) => {
    const { url } = await accepted(answered)
    const { recipients } = await clientOf(url).send({ to, message: 'Hello' })
    expect(recipients.map(({ outcome }) => outcome)).toEqual(['accepted', 'unknown', 'unknown'])
  })
})

test('recipients count more than the HTTP status', async () => {
  const { url } = await answering(() => ({ status: 400, body: { ...ACCEPTED, error: 'Some were refused.' } }))
  expect(await clientOf(url).send(HELLO)).toMatchObject({ kind: 'accepted' })
})

describe.each([
  ['a page of HTML', '<html>Bad gateway</html>', 'text/html'],
  ['nothing', '', 'application/json'],
  ['half a JSON', '{"messageData":{"messages":1},"recipients":[{"mess', 'application/json'],
  ['a list', '[]', 'application/json'],
  ['JSON of something else', '{"hello":"world"}', 'application/json'],
  ['a count without recipients', '{"messageData":{"messages":1}}', 'application/json'],
])('%s', (_, body, type) => {
  test.each([
    [200, true],
    [302, true],
    [404, false],
    [502, true],
  ])('is unreadable with status %d', async (status, mayBeSent) => {
    const { url, received } = await answering(() => ({ status, body, type }))
    const error = await failing(clientOf(url).send(HELLO))
    expect(error).toMatchObject({ code: 'unreadable', status, mayBeSent })
    expect(error.message).toContain(`The status was ${status}.`)
    // The client neither retries nor follows the redirect.
    expect(received).toHaveLength(1)
  })
})

test('a redirect forwards neither the key nor the message', async () => {
  const other = await answering(() => ({ body: ACCEPTED }))
  for (const status of [301, 302, 303, 307, 308]) {
    const { url } = await answering(() => ({ status, body: '', location: other.url }))
    expect(await failing(clientOf(url).send(HELLO))).toMatchObject({ code: 'unreadable', mayBeSent: true })
  }
  expect(other.received).toHaveLength(0)
})

test('gives up on an answer that exceeds the limit', async () => {
  const { url } = await answering(() => ({ body: 'x'.repeat(17_000_000) }))
  const error = await failing(clientOf(url).send(HELLO))
  expect(error).toMatchObject({ code: 'unreadable', status: 200, mayBeSent: true })
})

test('any JSON answer leads to consistent totals or a SendError', async () => {
  const code = fc.oneof(fc.integer({ min: 9, max: 25 }), fc.integer({ min: 9, max: 25 }).map(String), fc.jsonValue())
  const entry = fc.oneof(
    fc.record(
      { messageId: fc.oneof(fc.constantFrom('a', 'b'), fc.jsonValue()), to: fc.jsonValue(), statusCode: code },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  )
  const answer = fc.oneof(
    fc.record({ messageData: fc.jsonValue(), recipients: fc.array(entry) }, { requiredKeys: ['recipients'] }),
    fc.dictionary(fc.constantFrom('status', 'message', 'errors', 'error', 'data', '__proto__'), fc.jsonValue()),
    fc.jsonValue(),
  )
  await fc.assert(
    fc.asyncProperty(answer, fc.constantFrom(200, 400, 500), async (body, status) => {
      const client = clientOf('http://service.invalid/', { fetch: async () => Response.json(body, { status }) })
      const read = await client.send(HELLO).catch((error: unknown) => error)
      if (read instanceof SendError) {
        expect(read.answer?.recipients.every(({ outcome }) => outcome === 'refused') ?? true).toBe(true)
        return
      }
      expect(read).not.toBeInstanceOf(Error)
      const { kind, recipients, messages } = read as Awaited<ReturnType<typeof client.send>>
      const of = (outcome: string): number => recipients.filter((each) => each.outcome === outcome).length
      expect(of('accepted') + of('refused') + of('unknown')).toBe(recipients.length)
      expect(kind === 'accepted').toBe(recipients.length > 0 && of('accepted') === recipients.length)
      expect(of('refused')).toBeLessThan(recipients.length)
      expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(messages.length)
    }),
    { numRuns: 300 },
  )
})
