/** A reference is used once: by any call, in any notation of a number, and after everything else about it was erased. */
import type { ForgetSelector } from 'messaging-webhooks'
import { describe, expect, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { expecting } from './expecting.ts'

const everything = { from: new Date(0), to: new Date(8e15) }
const A = '254711000001'
const B = '254711000002'
const C = '254711000003'
const SENT_AGAIN = { code: 'send_repeated' }

describe.each(onEachStore)('%s', (_, makeStore) => {
  test.each<readonly [what: string, selector: (nowMs: number) => ForgetSelector]>([
    ['its recipient', () => ({ recipient: A })],
    ['its data', () => ({ where: ({ meta }) => meta === 'Ann' })],
    ['its time', (nowMs) => ({ before: nowMs + 1 })],
  ])('erasing a send by %s keeps its reference', async (__, selectorAt) => {
    const { receiver, events, clock, pass } = await expecting({ store: makeStore() })
    const how = { reference: 'order 7', meta: 'Ann' }
    await receiver.sends.intend({ ...how, to: A })
    const lost = await receiver.sends.intendEach([A], { ...how, reference: 'spring' })
    await lost.unknown()
    await pass(0, () => events.length === 1)
    const selector = selectorAt(clock.now())
    const counts = { messageStates: 2 }
    expect(await receiver.forget(selector, { dryRun: true })).toMatchObject(counts)
    expect(await receiver.forget(selector)).toMatchObject(counts)
    // Nothing is left to erase.
    expect(await receiver.forget(selector)).toMatchObject({ messageStates: 0, events: 0 })
    await expect(receiver.sends.intend({ ...how, to: A })).rejects.toMatchObject(SENT_AGAIN)
    expect((await receiver.sends.intendEach([A, B], { ...how, reference: 'spring' })).to).toEqual([B])
    expect((await receiver.sends.intendEach([A, C], how)).to).toEqual([C])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 2, waiting: 2, unknown: 0 })
    await pass(200_000)
    expect(events.flatMap((event) => (event.type === 'send.unknown' ? [event.sent.to] : []))).not.toContain(undefined)
  })

  test('an erased send with an answer keeps its reference as well, and nothing else', async () => {
    const { receiver, clock } = await expecting({ store: makeStore() })
    const { sent } = await receiver.sends.intend({ to: A, reference: `for ${A}`, meta: 'Ann' })
    const each = await receiver.sends.intendEach([A], { reference: A })
    await sent({ messages: [{ messageId: 'm' }] })
    await each.sent({ messages: [{ messageId: 'n' }] })
    await receiver.forget({ before: clock.now() + 1 })
    await expect(receiver.sends.intend({ to: A, reference: `for ${A}` })).rejects.toMatchObject(SENT_AGAIN)
    expect((await receiver.sends.intendEach([A], { reference: A })).to).toEqual([])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 0 })
    // The reference itself may name the person.
    expect(await receiver.forget({ where: () => true })).toMatchObject({ messageStates: 0, events: 0 })
  })

  test('the outcome of a send that was erased meanwhile neither restores it nor frees its reference wrongly', async () => {
    const { receiver, pass, events } = await expecting({ store: makeStore() })
    const answered = await receiver.sends.intend({ to: A, reference: 'answered' })
    const unknown = await receiver.sends.intend({ to: A, reference: 'unknown' })
    const unsent = await receiver.sends.intend({ to: A, reference: 'unsent' })
    expect(await receiver.forget({ recipient: A })).toMatchObject({ messageStates: 3 })
    await answered.sent({ messages: [{ messageId: 'm' }] })
    await unknown.unknown()
    await unsent.notSent()
    for (const reference of ['answered', 'unknown'])
      await expect(receiver.sends.intend({ to: A, reference })).rejects.toMatchObject(SENT_AGAIN)
    await receiver.sends.intend({ to: A, reference: 'unsent' })
    await pass(10)
    expect(events).toEqual([])
  })

  test('a list does not send to the numbers of a single send, and a send does not use the reference of a list', async () => {
    const { receiver } = await expecting({ store: makeStore() })
    await receiver.sends.intend({ to: [A, `+${A}`, B], reference: 'spring' })
    expect((await receiver.sends.intendEach([`+${A}`, C, B], { reference: 'spring' })).to).toEqual([C])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 3, waiting: 3 })
    await receiver.sends.intendEach([A], { reference: 'summer' })
    for (const to of [A, B])
      await expect(receiver.sends.intend({ to, reference: 'summer' })).rejects.toMatchObject(SENT_AGAIN)
    // The list itself goes on.
    expect((await receiver.sends.intendEach([A, B], { reference: 'summer' })).to).toEqual([B])
    // To which numbers it went is unknown.
    await receiver.sends.intend({ recipients: 2, reference: 'autumn' })
    await expect(receiver.sends.intendEach([C], { reference: 'autumn' })).rejects.toMatchObject(SENT_AGAIN)
  })

  test('of concurrent calls with one reference, one sends to a number', async () => {
    const { receiver } = await expecting({ store: makeStore() })
    for (let round = 0; round < 10; round += 1) {
      const reference = `round ${round}`
      const calls = await Promise.allSettled([
        receiver.sends.intendEach([A], { reference }).then(({ to }) => to.length),
        receiver.sends.intend({ to: A, reference }).then(() => 1),
        receiver.sends.intendEach([`+${A}`], { reference }).then(({ to }) => to.length),
        receiver.sends.intend({ to: `+${A}`, reference }).then(() => 1),
      ])
      const made = calls.map((call) => (call.status === 'fulfilled' ? call.value : 0))
      expect(made.reduce((sum, one) => sum + one)).toBe(1)
    }
  })

  test('a single send that was not made, or refused, leaves its numbers to a list', async () => {
    const { receiver } = await expecting({ store: makeStore() })
    const unsent = await receiver.sends.intend({ to: [A, B], reference: 'spring' })
    await unsent.notSent()
    const { sent } = await receiver.sends.intend({ to: [A, B, C], reference: 'spring' })
    const recipients = [
      { code: 11, messageId: 'a', to: `+${A}` },
      { code: 22, to: B },
    ]
    await sent({ messages: [{ messageId: 'a', to: `+${A}` }], recipients })
    // No one knows what happened to the number that the answer does not name.
    expect((await receiver.sends.intendEach([A, B, C], { reference: 'spring' })).to).toEqual([B])
  })
})
