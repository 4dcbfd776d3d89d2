/** The sends of a list: one for each number, so that no number is sent to twice under one reference. */
import type { WebhookEvent } from 'messaging-webhooks'
import type { UnknownSendEvent } from '../../src/public/events.ts'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { post } from '../support/receiving.ts'
import { expecting } from './expecting.ts'

const everything = { from: new Date(0), to: new Date(8e15) }
const A = '254711000001'
const B = '254711000002'
const C = '254711000003'

function unknownIn(events: readonly WebhookEvent[]): readonly UnknownSendEvent[] {
  return events.filter((event) => event.type === 'send.unknown')
}

describe.each(onEachStore)('%s', (_, makeStore) => {
  test('sends to a number once under a reference, in any notation and any list', async () => {
    const { receiver } = await expecting({ store: makeStore() })
    const first = await receiver.sends.intendEach([A, B], { reference: 'spring' })
    expect(first).toMatchObject({ reference: 'spring', to: [A, B] })
    const second = await receiver.sends.intendEach([C, `+${B}`, A, C], { reference: 'spring' })
    expect(second.to).toEqual([C])
    expect((await receiver.sends.intendEach([A], { reference: 'summer' })).to).toEqual([A])
    expect((await receiver.sends.intendEach([A])).to).toEqual([A])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 5, waiting: 5 })
  })

  test('concurrent calls start each number once', async () => {
    const { receiver } = await expecting({ store: makeStore() })
    const numbers = Array.from({ length: 700 }, (__, nth) => String(254_711_000_000 + nth))
    const lists = Array.from({ length: 4 }, (__, nth) => numbers.slice(nth * 50))
    const begun = await Promise.all(lists.map(async (to) => receiver.sends.intendEach(to, { reference: 'spring' })))
    expect(begun.flatMap(({ to }) => to).toSorted()).toEqual(numbers)
  })

  test('reads an answer number by number: accepted, refused, and not named', async () => {
    const { receiver, url, events, pass } = await expecting({ store: makeStore() })
    const how = { reference: 'spring', meta: { list: 7 }, channel: 'sms', withinMs: 3_600_000 }
    const { sent } = await receiver.sends.intendEach([A, B, C], how)
    const answer = {
      messages: [{ messageId: 'a', to: `+${A}` }],
      recipients: [
        { code: 11, messageId: 'a', to: `+${A}`, parts: 2 },
        { code: 22, to: B },
      ],
    }
    expect(await sent(answer)).toEqual({ expected: 2, known: 0 })
    expect(await sent(answer)).toEqual({ expected: 0, known: 2 })
    await pass(0, () => events.length === 1)
    expect(unknownIn(events)).toMatchObject([
      { reference: 'spring', sent: { to: C, recipients: 1, meta: { list: 7 } } },
    ])
    await post(url, callback.smsDelivery({ messageId: 'a', status: 'success' }))
    await pass(0, () => events.length === 2)
    expect(events.at(-1)).toMatchObject({ messageId: 'a', sent: { reference: 'spring', meta: { list: 7 }, parts: 2 } })
    const account = { sent: 3, delivered: 1, unknown: 1, waiting: 0, refused: { insufficient_balance: 1 } }
    expect(await receiver.sends.account(everything)).toMatchObject(account)
    // What was refused was not sent.
    expect((await receiver.sends.intendEach([A, B, C], how)).to).toEqual([B])
  })

  test('allows a send that surely was not made, and names each number that may have been sent to', async () => {
    const { receiver, events, pass } = await expecting({ store: makeStore() })
    const first = await receiver.sends.intendEach([A, B], { reference: 'spring' })
    await first.notSent()
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 0 })
    const second = await receiver.sends.intendEach([A, B], { reference: 'spring' })
    expect(second.to).toEqual([A, B])
    await second.unknown()
    await second.unknown()
    await pass(0, () => events.length === 2)
    expect(unknownIn(events).map(({ sent }) => sent.to)).toEqual([A, B])
    expect((await receiver.sends.intendEach([A, B], { reference: 'spring' })).to).toEqual([])
  })

  test('treats an answer without recipients as an unsent request', async () => {
    const { receiver } = await expecting({ store: makeStore() })
    const { sent } = await receiver.sends.intendEach([A, B], { reference: 'spring' })
    await sent({ messages: [], recipients: [] })
    expect((await receiver.sends.intendEach([A, B], { reference: 'spring' })).to).toEqual([A, B])
  })

  test('without an answer each number becomes unknown when the answer is overdue', async () => {
    const { receiver, events, pass } = await expecting({ store: makeStore() })
    await receiver.sends.intendEach([A, B], { reference: 'spring', answerWithinMs: 1_000 })
    await pass(1_000, () => events.length === 2)
    expect(
      unknownIn(events)
        .map(({ sent }) => sent.to)
        .toSorted(),
    ).toEqual([A, B])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 2, unknown: 2 })
  })
})

test('the record of an ended send names no recipient', async () => {
  const { receiver, events } = await expecting()
  const { sent } = await receiver.sends.intendEach([A], { reference: 'spring', meta: { name: 'Ann' } })
  await sent({ messages: [{ messageId: 'a' }], recipients: [{ code: 11, messageId: 'a' }] })
  expect(await receiver.forget({ recipient: A })).toMatchObject({ messageStates: 1 })
  expect((await receiver.sends.intendEach([A], { reference: 'spring' })).to).toEqual([])
  expect(events).toEqual([])
})

test('refuses invalid calls', async () => {
  const { receiver } = await expecting()
  await expect(receiver.sends.intendEach([])).rejects.toThrow(/sends.intendEach: to is .*; expected/)
  const alone = { to: A } as never
  await expect(receiver.sends.intendEach([A], alone)).rejects.toThrow(/Invalid option for sends.intendEach: to/)
})
