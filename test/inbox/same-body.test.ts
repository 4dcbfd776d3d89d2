/** Which callbacks that are not reports are the same event, if their bodies are equal. */
import { createReceiver, type CallbackKind, type CallbackSchemas, type DedupeKeyInput } from 'messaging-webhooks'
import type { OtherOptions } from '../../src/receiver/options.ts'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ownFile } from '../support/own-folder.ts'

const PAIR = { authKey: 'the-auth-key-of-this-test', signingSecret: 'the-signing-secret-of-this-test' }
const START_MS = 1_760_000_123_456

interface Sent {
  /** Milliseconds after the start. */
  readonly at: number
  readonly body: object | string
  readonly kind?: CallbackKind
  /** Seconds after the start. Undefined: the authKey is the only proof. */
  readonly signedAt?: number
}

/** The ids of the events that handlers got. */
async function eventsOf(
  sent: readonly Sent[],
  options: OtherOptions<CallbackSchemas> = {},
): Promise<readonly string[]> {
  let nowMs = START_MS
  const receiver = createReceiver({
    logger: false,
    clock: () => nowMs,
    ...options,
    credentials: PAIR,
  })
  onTestFinished(() => receiver.close({ deadlineMs: 100 }))
  const ids: string[] = []
  receiver.onAny(({ id }) => void ids.push(id))
  for (const { at, body, kind = 'received', signedAt } of sent) {
    nowMs = START_MS + at
    const text =
      typeof body === 'string'
        ? body
        : JSON.stringify(signedAt === undefined ? { ...body, authKey: PAIR.authKey } : body)
    const timestamp = Math.floor(START_MS / 1_000) + (signedAt ?? 0)
    const headers: Record<string, string> =
      signedAt === undefined ? {} : { 'x-service-signature': signCallback(text, PAIR.signingSecret, { timestamp }) }
    const answer = await receiver.receive({ kind, method: 'POST', headers, body: Buffer.from(text) })
    expect(answer.status).toBe(204)
    await receiver.drain()
  }
  return ids
}

const YES = { project: 'My Shop', from: '999100000000', text: 'YES' }
const DAY_MS = 86_400_000

test('a customer who writes the same a week later is heard again, signed or not', async () => {
  const week = 7 * DAY_MS
  expect(
    await eventsOf([
      { at: 0, body: YES },
      { at: week, body: YES },
    ]),
  ).toHaveLength(2)
  const signed = [
    { at: 0, body: YES, signedAt: 0 },
    { at: week, body: YES, signedAt: week / 1_000 },
  ]
  expect(new Set(await eventsOf(signed)).size).toBe(2)
})

test('activate, deactivate, activate are three events', async () => {
  const steps = ['activate', 'deactivate', 'activate'].map((event, nth) => {
    return { at: nth * 1_000, body: { project: 'My Shop', event, phone: '999100000000' }, signedAt: nth }
  })
  expect(await eventsOf(steps.map((step) => ({ ...step, kind: 'subscription' })))).toHaveLength(3)
})

test('with a signature, its t decides, however late the repetition comes within the tolerance', async () => {
  expect(await eventsOf([0, 1_000, 290_000].map((at) => ({ at, body: YES, signedAt: 0 })))).toHaveLength(1)
  expect(await eventsOf([0, 1].map((signedAt) => ({ at: 1_000, body: YES, signedAt })))).toHaveLength(2)
})

// Whatever the second in which the first arrives: the window begins with it.
test.each([0, 77_000, 150_000, 299_000])('without one, the same within 300 s of the first (%i)', async (first) => {
  const at = (ms: number): Sent => ({ at: first + ms, body: YES })
  expect(await eventsOf([at(0), at(1_000), at(300_000)])).toHaveLength(1)
  expect(await eventsOf([at(0), at(250_000), at(301_000), at(500_000)])).toHaveLength(2)
  expect(await eventsOf([at(0), at(31_000)], { toleranceSeconds: 30 })).toHaveLength(2)
})

test('two events of equal bodies without a signature have two ids, and one payload each', async () => {
  const ids = await eventsOf([
    { at: 0, body: YES },
    { at: 301_000, body: YES },
  ])
  expect(new Set(ids).size).toBe(2)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
})

test('the window holds in a store on disk, over a restart', async () => {
  const path = ownFile()
  expect(await eventsOf([{ at: 0, body: YES }], { store: sqliteStore(path) })).toHaveLength(1)
  const again = [200_000, 301_000, 302_000].map((at) => ({ at, body: YES }))
  expect(await eventsOf(again, { store: sqliteStore(path) })).toHaveLength(1)
})

test.each([
  ['messageId', { messageId: 'm-1' }],
  ['messageId, a number', { messageId: 42 }],
  ['timestamp', { timestamp: 1_760_000_000 }],
  ['timestamp, as text', { timestamp: '1760000000' }],
])('a body with its own %s is the same event whenever it comes', async (_, own) => {
  const body = { ...YES, ...own }
  expect(
    await eventsOf([
      { at: 0, body },
      { at: DAY_MS, body },
    ]),
  ).toHaveLength(1)
  const signed = [0, DAY_MS].map((at) => ({ at, body, signedAt: at / 1_000 }))
  expect(await eventsOf(signed)).toHaveLength(1)
})

test.each([
  ['an id that the service does not document', { id: 'subscriber-7' }],
  ['an empty messageId', { messageId: ' ' }],
  ['a messageId that is an object', { messageId: {} }],
  ['a timestamp in milliseconds', { timestamp: 1_760_000_000_000 }],
  ['an unreadable timestamp', { timestamp: 'soon' }],
])('%s does not make two events one', async (_, own) => {
  const body = { ...YES, ...own }
  expect(
    await eventsOf([
      { at: 0, body, signedAt: 0 },
      { at: DAY_MS, body, signedAt: DAY_MS / 1_000 },
    ]),
  ).toHaveLength(2)
})

test('bodies that cannot be read follow the same rule', async () => {
  const text = 'neither JSON nor empty'
  const sent = [0, 0, 5].map((signedAt) => ({ at: 5_000, body: text, signedAt }))
  expect(await eventsOf(sent)).toHaveLength(2)
})

test('dedupeKey gets when the callback was signed and when it arrived', async () => {
  const shown: DedupeKeyInput[] = []
  const dedupeKey = (input: DedupeKeyInput): string => {
    shown.push(input)
    return `${input.project} ${String(input.signedAt)}`
  }
  const report = { project: 'My Shop', messageId: 'm-1', channel: 'sms', status: 'success' }
  await eventsOf(
    [
      { at: 5_000, body: YES, signedAt: 4 },
      { at: 6_500, body: YES },
      { at: 7_000, body: report, kind: 'status', signedAt: 7 },
    ],
    { dedupeKey },
  )
  expect(shown.map(({ signedAt, receivedAt }) => [signedAt, receivedAt.getTime() - START_MS])).toEqual([
    [1_760_000_127, 5_000],
    [undefined, 6_500],
    [1_760_000_130, 7_000],
  ])
})
