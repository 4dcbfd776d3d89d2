import type { DedupeKeyInput, ReceiverOptions } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'

async function dispatched(dedupeKey: NonNullable<ReceiverOptions['dedupeKey']>, bodies: readonly object[]) {
  const { receiver, url, errors } = await receiving({ dedupeKey })
  const ids: string[] = []
  receiver.onAny(({ id }) => void ids.push(id))
  for (const body of bodies) expect((await post(url, body)).status).toBe(204)
  await receiver.drain()
  return { ids, errors }
}

const one = callback.smsDelivery({ messageId: 'one', type: 'first', timestamp: 1_700_000_000 })
const again = callback.smsDelivery({ messageId: 'one', type: 'second', timestamp: 1_700_000_001 })

test('two callbacks with the same key are one event', async () => {
  const { ids, errors } = await dispatched(() => 'the same', [one, again])
  expect(ids).toHaveLength(1)
  expect(errors).toEqual([])
})

test('two callbacks with two keys are two events, even if all else is equal', async () => {
  let calls = 0
  const { ids } = await dispatched(() => String((calls += 1)), [one, one])
  expect(new Set(ids).size).toBe(2)
})

test('the same key in two messages is two events', async () => {
  const { ids } = await dispatched(() => 'the same', [one, callback.smsDelivery({ messageId: 'two' })])
  expect(ids).toHaveLength(2)
})

test('undefined keeps the default: equal word and time are the same event', async () => {
  const { ids } = await dispatched(() => undefined, [one, { ...one, type: 'another' }, again])
  expect(ids).toHaveLength(2)
})

test('uses the default key and notifies onError when dedupeKey returns no text', async () => {
  const { ids, errors } = await dispatched(() => null as unknown as string, [one, one, again])
  expect(ids).toHaveLength(2)
  expect(errors.map(({ code }) => code)).toEqual(['dedupe_key_failed', 'dedupe_key_failed', 'dedupe_key_failed'])
})

test('receives the known fields of the callback, with the authKey masked', async () => {
  const shown: DedupeKeyInput[] = []
  await dispatched((input) => void shown.push(input), [one, callback.payment({ timestamp: 1_700_000_000 })])
  expect(shown).toMatchObject([
    { kind: undefined, project: 'My Shop', messageId: 'one', status: 'success', timestamp: 1_700_000_000 },
    { kind: undefined, project: 'My Shop', messageId: undefined, status: undefined, timestamp: 1_700_000_000 },
  ])
  for (const { raw } of shown) {
    expect(raw.toString()).not.toContain(AUTH_KEY)
    expect(JSON.parse(raw.toString())).toMatchObject({ authKey: '*'.repeat(AUTH_KEY.length) })
  }
})
