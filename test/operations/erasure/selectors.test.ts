/** Selectors of erasure: matches, refusals and results, on the stores without a server. */
import { memoryStore, type ForgetSelector, type WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { onEachStore } from '../../support/each-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { post, receiving, type SomeOptions } from '../../support/receiving.ts'
import { A, B } from '../../support/pairs.ts'

const PERSON = '254700123456'

/** A receiver that gives up at once, so that every payload is kept as a dead letter. */
async function keeping(options: SomeOptions = {}) {
  const running = await receiving({ retry: { attempts: 1 }, ...options })
  const seen: WebhookEvent[] = []
  running.receiver.onAny((event) => {
    seen.push(event)
    throw new Error('no')
  })
  await running.receiver.start()
  return { ...running, seen }
}

const chat = (messageId: string, recipient: string, fields: object = {}): object =>
  callback.chatApp({ statuses: { message_id: messageId, recipient, status: 'sent' }, ...fields })

describe.each(onEachStore)('with the store %s', (_, makeStore) => {
  test('finds a number in any notation, as any value of a payload', async () => {
    const { receiver, url } = await keeping({ store: makeStore() })
    const mine = [
      chat('a', PERSON),
      chat('b', `+${PERSON}`),
      { project: 'p', kind: 'payment', payer: { msisdn: Number(PERSON) } },
      { project: 'p', items: [{ from: ` ${PERSON} ` }] },
    ]
    const others = [
      chat('c', '254711999888', { phone_number: PERSON }),
      callback.smsDelivery({ messageId: PERSON }),
      { project: 'p', text: `call ${PERSON}`, timestamp: Number(PERSON) },
      { project: 'p', payer: { msisdn: `${PERSON}7` } },
    ]
    for (const body of [...mine, ...others]) expect((await post(url, body)).status).toBe(204)
    await receiver.drain()
    expect((await receiver.stats()).deadLetters).toBe(8)
    const counts = { events: 4, deadLetters: 4, messageStates: 2 }
    for (const recipient of [PERSON, `+${PERSON}`, `00254 700 123 456`, `+254 (700) 123-456`])
      expect(await receiver.forget({ recipient }, { dryRun: true }), recipient).toMatchObject({
        ...counts,
        dryRun: true,
      })
    const { tookMs, examined, ...forgotten } = await receiver.forget({ recipient: PERSON })
    expect(tookMs).toBeGreaterThanOrEqual(0)
    expect(examined).toBeGreaterThanOrEqual(8)
    expect(forgotten).toMatchObject({ ...counts, dryRun: false })
    expect((await receiver.stats()).deadLetters).toBe(4)
  })

  test('erases a whole message if one report belongs to the person', async () => {
    const { receiver, url } = await keeping({ store: makeStore() })
    await post(url, chat('m', PERSON))
    await post(url, { ...callback.smsDelivery({ messageId: 'm' }) })
    await receiver.drain()
    expect(await receiver.forget({ recipient: PERSON })).toMatchObject({ events: 2, messageStates: 1 })
    expect(await receiver.messageState('m')).toBeUndefined()
  })

  test('erases by a function of the payload', async () => {
    const { receiver, url } = await keeping({ store: makeStore() })
    await post(url, { project: 'p', account: 'Ms Example' })
    await post(url, { project: 'p', account: 'Mr Other' })
    await receiver.drain()
    const where = (payload: Readonly<Record<string, unknown>>): boolean => payload['account'] === 'Ms Example'
    expect(await receiver.forget({ where })).toMatchObject({ events: 1, deadLetters: 1 })
    expect((await receiver.deadLetters.list()).items.map(({ event }) => event.payload)).toEqual([
      { project: 'p', account: 'Mr Other' },
    ])
  })

  test('erases events before a time, and only those of a message', async () => {
    const clock = fakeClock()
    const { receiver, url } = await keeping({ store: makeStore(), clock })
    await post(url, chat('m', PERSON), { timestamp: clock.now() / 1_000 })
    await clock.advance(60_000)
    const before = new Date(clock.now())
    await post(url, callback.chatApp({ statuses: { message_id: 'm', recipient: PERSON, status: 'failed' } }), {
      timestamp: clock.now() / 1_000,
    })
    await expect.poll(async () => (await receiver.stats()).deadLetters).toBe(2)
    const expected = await receiver.forget({ before }, { dryRun: true })
    expect(expected).toMatchObject({ events: 1, deadLetters: 1 })
    expect(await receiver.forget({ before: before.getTime() })).toMatchObject({ events: 1, deadLetters: 1 })
    expect((await receiver.deadLetters.list()).items.map(({ event }) => event.type)).toEqual(['message.failed'])
    expect((await receiver.messageState('m'))?.type).toBe('message.failed')
    expect(await receiver.forget({ before })).toMatchObject({ events: 0, deadLetters: 0 })
  })

  test('also searches a body that is not a JSON object', async () => {
    const { receiver, url } = await keeping({ store: makeStore() })
    const bodies = [`msisdn=%2B${PERSON}&x=1`, `id=1${PERSON}`, `["${PERSON}"]`]
    for (const body of bodies) await post(url, body)
    await receiver.drain()
    expect((await receiver.stats()).deadLetters).toBe(3)
    expect(await receiver.forget({ recipient: PERSON })).toMatchObject({ events: 2 })
  })
})

test('is limited to a project, and requires one if a message id is ambiguous', async () => {
  const { receiver } = await keeping({ projects: { a: A, b: B }, store: memoryStore() })
  for (const [project, { authKey }] of Object.entries({ a: A, b: B })) {
    const body = Buffer.from(JSON.stringify({ ...chat('m', PERSON), project, authKey }))
    expect((await receiver.receive({ method: 'POST', headers: {}, body })).status).toBe(204)
  }
  await receiver.drain()
  await expect(receiver.forget({ messageId: 'm' })).rejects.toMatchObject({ code: 'project_required' })
  expect(await receiver.forget({ messageId: 'm', project: 'a' })).toMatchObject({ events: 1 })
  expect(await receiver.forget({ recipient: PERSON, project: 'a' })).toMatchObject({ events: 0 })
  expect(await receiver.forget({ recipient: PERSON, project: 'b' })).toMatchObject({ events: 1 })
})

test.each<[unknown, RegExp]>([
  [{}, /exactly one of messageId, recipient, before, where; got none/],
  [undefined, /got none/],
  [{ messageId: 'm', recipient: 'r' }, /got messageId and recipient/],
  [{ recipiant: 'r' }, /Did you mean recipient/],
  [{ recipient: '' }, /recipient is an empty string/],
  [{ recipient: '+' }, /neither a digit nor a letter/],
  [{ before: '2026-01-01' }, /before is a string; expected a Date/],
  [{ before: new Date('nonsense') }, /expected a Date/],
  [{ before: 1, project: 'p' }, /project is not valid with before/],
  [{ where: true }, /where is true; expected a function/],
])('refuses %o', async (selector, message) => {
  const { receiver } = await keeping()
  // Values that an untyped caller may pass.
  const forgetting = receiver.forget(selector as ForgetSelector)
  await expect(forgetting).rejects.toThrow(message)
  await expect(forgetting).rejects.toMatchObject({ code: 'options_invalid' })
})

test('refuses unknown options, and a function without a boolean result', async () => {
  const { receiver, url } = await keeping()
  await post(url, chat('m', PERSON))
  await receiver.drain()
  await expect(receiver.forget({ recipient: 'r' }, { dryrun: true } as object)).rejects.toThrow(/Did you mean dryRun/)
  const where = (() => undefined) as unknown as () => boolean
  await expect(receiver.forget({ where })).rejects.toThrow(/where returned undefined; expected true or false/)
  expect((await receiver.stats()).deadLetters).toBe(1)
})
