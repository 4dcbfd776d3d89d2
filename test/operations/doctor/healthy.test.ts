/** A healthy app: the doctor reports no problem, and leaves no trace. */
import express from 'express'
import { memoryStore } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving, serve } from '../../support/receiving.ts'
import { askDoctor, faultsOf, PAIR } from './asking.ts'

test('all is well, from outside and in the app’s own process', async () => {
  const { receiver } = await receiving()
  receiver.onAny(() => {})
  const url = await serve(express().post('/status', receiver.middleware('status')))
  const options = { url: `${url}status`, kind: 'status' } as const
  const found: string[] = []
  for (const diagnosis of [await receiver.doctor(options), await askDoctor(options.url, PAIR, { kind: 'status' })]) {
    expect(faultsOf(diagnosis)).toEqual([])
    expect(diagnosis).toMatchObject({ ok: true, url: options.url, kind: 'status' })
    const codes = diagnosis.findings.map(({ code }) => code)
    expect(codes.slice(0, 2)).toEqual(['receiver_answers', 'proof_intact'])
    // Plain data.
    expect(JSON.parse(JSON.stringify(diagnosis))).toEqual(diagnosis)
    found.push(...codes.slice(2))
  }
  // Only the app's own process knows its state.
  expect(found).toEqual(['store_answers', 'handlers_listen'])
})

test.each([
  ...(['either', 'signature', 'authKey', 'both'] as const).map((proof) => ({ options: { proof }, pair: PAIR })),
  ...[{ authKey: PAIR.authKey }, { signingSecret: PAIR.signingSecret }].map((pair) => ({
    options: { credentials: pair },
    pair,
  })),
])('all is well with each policy, and with half a pair if the app has only that: %j', async ({ options, pair }) => {
  const { receiver } = await receiving(options)
  receiver.onAny(() => {})
  const url = await serve(receiver.middleware('payment'))
  expect(faultsOf(await askDoctor(url, pair, { kind: 'payment' }))).toEqual([])
})

test('projects: the name selects the pair, and a wrong name is reported', async () => {
  const other = { authKey: 'auth-key-of-another', signingSecret: 'signing-secret-of-another' }
  const { receiver } = await receiving({ projects: { 'My Shop': PAIR, Another: other } })
  receiver.onAny(() => {})
  const url = await serve(receiver.middleware('status'))
  for (const project of ['My Shop', 'Another'])
    expect(faultsOf(await receiver.doctor({ url, project, kind: 'status' }))).toEqual([])
  expect(faultsOf(await askDoctor(url, other, { project: 'My Shop' }))).toEqual(['pair_wrong'])
})

test('runs no handler, and stores, counts, reports and quarantines nothing', async () => {
  const store = memoryStore()
  const { receiver, errors } = await receiving({ store })
  const handled: string[] = []
  receiver.onAny((event) => void handled.push(event.type))
  const url = await serve(receiver.middleware('status'))
  await receiver.start()
  await post(url, callback.smsDelivery({ messageId: 'm-1' }))
  await receiver.drain()
  const before = await receiver.stats()

  await receiver.doctor({ url, kind: 'status' })
  await receiver.drain()
  expect(await receiver.stats()).toEqual(before)
  expect(handled).toHaveLength(1)
  expect(errors).toEqual([])
  expect((await receiver.quarantine.list()).items).toEqual([])
  expect((await receiver.deadLetters.list()).items).toEqual([])
})
