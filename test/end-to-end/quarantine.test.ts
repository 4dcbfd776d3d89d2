/** A bad deploy: the secret is wrong, real callbacks are refused, junk and forgeries arrive, and nothing is lost. */
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createReceiver,
  memoryStore,
  type CredentialPair,
  type ErrorCode,
  type Store,
  type WebhookEvent,
} from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/store.ts'
import { A, B } from '../support/pairs.ts'
import { postAll } from '../support/pipelining.ts'
import { listen } from '../support/receiving.ts'

type Request = readonly [body: string, headers: Readonly<Record<string, string>>]

const MESSAGES = 200
const FORGERIES = 20_000

/** An application that is deployed with the wrong pair; `mend` gives it the right one while it runs. */
async function deployed(options: { readonly store?: Store; readonly quarantine?: { readonly maxBytes: number } } = {}) {
  let pair: CredentialPair = B
  const receiver = createReceiver({ credentials: () => pair, logger: false, ...options })
  const events: WebhookEvent[] = []
  const codes: ErrorCode[] = []
  receiver.onAny((event) => void events.push(event))
  receiver.onError(({ code }) => void codes.push(code))
  const server = http.createServer(receiver.middleware('status'))
  const url = await listen(server)
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await receiver.close({ deadlineMs: 1_000 })
  })
  return { receiver, url, events, codes, mend: () => void (pair = A) }
}

/** Of each message five callbacks: three of a chat-app, two of SMS; every other message's come backwards. */
function realCallbacks(): readonly Request[] {
  const now = Math.floor(Date.now() / 1_000)
  return Array.from({ length: MESSAGES }, (_, nth) => {
    const chat = ['sent', 'delivered', 'read'].map((status) =>
      callback.chatApp({ statuses: { message_id: `chat ${nth}`, status } }),
    )
    const sms = ['accepted', 'success'].map((status, second) =>
      callback.smsDelivery({ messageId: `sms ${nth}`, status, timestamp: now - 10 + second }),
    )
    const bodies = [...chat, ...sms].map((fields) => JSON.stringify({ ...fields, authKey: A.authKey }))
    return (nth % 2 === 0 ? bodies : bodies.reverse()).map((body, index): Request => {
      // Some are proved by their signature, some by their authKey alone.
      return [body, index === 0 ? {} : { 'x-service-signature': signCallback(body, A.signingSecret) }]
    })
  }).flat()
}

/** Not shaped like callbacks, and each another. */
function junk(count: number): readonly Request[] {
  return Array.from({ length: count }, (_, nth): Request => {
    const kinds = [`{"hello":${nth}}`, `a=${nth}&authKey=x`, `[${nth}]`, `{"messageId":"${nth}","status":"success"}`]
    return [kinds[nth % kinds.length] ?? '', nth % 5 === 0 ? { 'x-service-signature': 'nonsense' } : {}]
  })
}

function forgeries(): readonly Request[] {
  return Array.from({ length: FORGERIES }, (_, nth): Request => {
    const body = JSON.stringify(callback.smsDelivery({ messageId: `forged ${nth}`, authKey: `guess ${nth}` }))
    return [body, { 'x-service-signature': signCallback(body, 'a guess') }]
  })
}

function expectAllInOrder(events: readonly WebhookEvent[]): void {
  const byMessage = new Map<string, string[]>()
  for (const event of events) {
    if (!('messageId' in event)) throw new Error(`${event.type} is no report of its own.`)
    byMessage.set(event.messageId, [...(byMessage.get(event.messageId) ?? []), event.type])
  }
  expect(byMessage.size).toBe(2 * MESSAGES)
  for (const [messageId, types] of byMessage) {
    const chat = ['message.sent', 'message.delivered', 'message.read']
    expect(types).toEqual(messageId.startsWith('chat') ? chat : ['message.queued', 'message.delivered'])
  }
}

function sqliteInAFolder(): Store {
  const folder = mkdtempSync(join(tmpdir(), 'quarantine-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return sqliteStore(join(folder, 'webhooks.db'))
}

const hasSqlite = Number(process.versions.node.split('.')[0]) >= 24
const CASES = [
  { store: 'memory', makeStore: () => memoryStore(), junkCount: 100_000 },
  ...(hasSqlite ? [{ store: 'sqlite', makeStore: sqliteInAFolder, junkCount: 4_000 }] : []),
]

test.each(CASES)(
  '1,000 callbacks that met the wrong secret come out in order, with $store and $junkCount junk requests between them',
  async ({ makeStore, junkCount }) => {
    const { receiver, url, events, mend } = await deployed({ store: makeStore() })
    const real = realCallbacks()
    const noise = junk(junkCount)
    expect(real).toHaveLength(1_000)
    const parts = 4
    for (let part = 0; part < parts; part += 1) {
      const of = <T>(all: readonly T[]) => all.slice((part * all.length) / parts, ((part + 1) * all.length) / parts)
      expect(await postAll(url, of(noise))).toEqual({ 401: junkCount / parts })
      expect(await postAll(url, of(real))).toEqual({ 401: real.length / parts })
    }
    const { looksLikeOurs, rest, bytes } = receiver.quarantine.counts()
    expect(looksLikeOurs).toBe(1_000)
    expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024)
    mend()
    const outcome = await receiver.quarantine.reverify()
    expect(outcome).toEqual({ examined: 1_000 + rest, admitted: 1_000, stillUnproved: rest })
    expect(await receiver.drain()).toBe(true)
    expect(events).toHaveLength(1_000)
    expectAllInOrder(events)
    expect(receiver.quarantine.counts()).toMatchObject({ looksLikeOurs: 0, rest })
  },
  60_000,
)

test('a flood of well-shaped forgeries stays within its share, and what came before it stays', async () => {
  const maxBytes = 4 * 1024 * 1024
  const { receiver, url, events, codes, mend } = await deployed({ quarantine: { maxBytes } })
  expect(await postAll(url, realCallbacks())).toEqual({ 401: 1_000 })
  const heapBefore = process.memoryUsage().heapUsed
  expect(await postAll(url, forgeries())).toEqual({ 401: FORGERIES })
  const { bytes, dropped, looksLikeOurs } = receiver.quarantine.counts()
  expect(bytes).toBeLessThanOrEqual(maxBytes / 2)
  expect(dropped).toBe(1_000 + FORGERIES - looksLikeOurs)
  expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(128 * 1024 * 1024)
  expect(codes.filter((code) => code === 'quarantine_full')).toHaveLength(1)
  // Whatever strangers send, there is room for what the right key signed.
  const body = JSON.stringify(callback.smsDelivery())
  const stale = { 'x-service-signature': signCallback(body, B.signingSecret, { timestamp: 1_700_000_000 }) }
  expect(await postAll(url, [[body, stale]])).toEqual({ 401: 1 })
  expect(receiver.quarantine.counts()).toMatchObject({ provedButStale: 1 })
  mend()
  expect(await receiver.quarantine.reverify()).toMatchObject({ admitted: 1_000 })
  await receiver.drain()
  expectAllInOrder(events)
}, 60_000)
