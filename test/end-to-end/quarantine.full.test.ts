/** A bad deploy: the secret is wrong, real callbacks are refused, junk and forgeries arrive, and nothing is lost. */
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  createReceiver,
  memoryStore,
  type CredentialPair,
  type ErrorCode,
  type Store,
  type WebhookEvent,
} from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/store.ts'
import { A, B } from '../support/pairs.ts'
import { postAll } from '../support/pipelining.ts'
import { servingStatus } from '../support/receiving.ts'
import { forgeries, junk, problemsOf, realCallbacks } from './quarantine-traffic.ts'
import { ownFolder } from '../support/own-folder.ts'

const FORGERIES = 20_000

/** An application that is deployed with the wrong pair; `mend` gives it the right one while it runs. */
async function deployed(options: { readonly store?: Store; readonly quarantine?: { readonly maxBytes: number } } = {}) {
  let pair: CredentialPair = B
  const receiver = createReceiver({ credentials: () => pair, logger: false, ...options })
  const events: WebhookEvent[] = []
  const codes: ErrorCode[] = []
  receiver.onAny((event) => void events.push(event))
  receiver.onError(({ code }) => void codes.push(code))
  const url = await servingStatus(receiver)
  return { receiver, url, events, codes, mend: () => void (pair = A) }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Without what is only not collected yet, of which a busy machine has more. */
function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

function expectAllInOrder(events: readonly WebhookEvent[]): void {
  const handed = events.map((event) => ['messageId' in event ? event.messageId : '', event.type] as const)
  expect(problemsOf(handed)).toEqual([])
}

function sqliteInAFolder(): Store {
  const folder = ownFolder()
  return sqliteStore(join(folder, 'webhooks.db'))
}

const CASES = [
  { store: 'memory', makeStore: () => memoryStore(), junkCount: 4_000 },
  { store: 'sqlite', makeStore: sqliteInAFolder, junkCount: process.env['FORGERIES'] === undefined ? 16_000 : 100_000 },
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
  const heapBefore = heapBytes()
  expect(await postAll(url, forgeries(FORGERIES))).toEqual({ 401: FORGERIES })
  const { bytes, dropped, looksLikeOurs } = receiver.quarantine.counts()
  expect(bytes).toBeLessThanOrEqual(maxBytes / 2)
  expect(dropped).toBe(1_000 + FORGERIES - looksLikeOurs)
  // Kept without a bound, they would take some 18 MB. What the last requests held is free only a turn later.
  await expect.poll(() => heapBytes() - heapBefore).toBeLessThan(2 * maxBytes)
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
