import http from 'node:http'
import net from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { createReceiver, memoryStore, type CredentialPair, type Logger, type WebhookEvent } from 'messaging-webhooks'
import type { OptionsOfOneProject, OtherOptions } from '../../src/receiver/options.ts'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { A, B, send } from '../support/pairs.ts'
import { listen, receiving } from '../support/receiving.ts'

const START_MS = 1_700_000_000_000
const START = START_MS / 1_000

/** A receiver whose pair can be changed while it runs, with a fixed clock. */
async function rotating(options: OtherOptions & Partial<OptionsOfOneProject> = {}) {
  const clock = fakeClock(START_MS)
  let pair: CredentialPair = B
  const events: WebhookEvent[] = []
  const service = await receiving({ clock, credentials: () => pair, ...options })
  service.receiver.onAny((event) => void events.push(event))
  return { ...service, clock, events, quarantine: service.receiver.quarantine, rotateTo: (to: typeof A) => (pair = to) }
}

async function postRaw(url: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<number> {
  return (await fetch(url, { method: 'POST', body, headers })).status
}

/** Each request has a new name. */
let names = 0
async function junk(url: string, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) await send(url, A, { project: `junk ${(names += 1)}` }, START)
}

describe('a request without a valid proof', () => {
  test('is answered 401, and admitted once the right key proves it, with its own time of arrival', async () => {
    const { url, quarantine, receiver, events, clock, rotateTo } = await rotating()
    expect(await send(url, A, { messageId: 'm' }, START)).toBe(401)
    expect(await quarantine.reverify()).toEqual({ examined: 1, admitted: 0, stillUnproved: 1 })
    await clock.advance(3_600_000)
    rotateTo(A)
    expect(await quarantine.reverify()).toEqual({ examined: 1, admitted: 1, stillUnproved: 0 })
    await receiver.drain()
    expect(events).toMatchObject([{ type: 'message.delivered', messageId: 'm', proof: 'both' }])
    expect(events[0]?.receivedAt).toEqual(new Date(START_MS))
    expect(quarantine.size).toBe(0)
    expect(await receiver.stats()).toMatchObject({ accepted: 1, refused: 1 })
  })

  test('is kept with its content encoding when answered 415', async () => {
    const { url, quarantine, receiver, events, rotateTo } = await rotating()
    const body = gzipSync(JSON.stringify(callback.smsDelivery()))
    const signature = signCallback(body, A.signingSecret, { timestamp: START })
    const headers = { 'x-service-signature': signature, 'content-encoding': 'gzip' }
    expect(await postRaw(url, body, headers)).toBe(415)
    expect((await quarantine.list()).items).toMatchObject([{ class: 'rest', contentEncoding: 'gzip' }])
    rotateTo(A)
    expect(await quarantine.reverify()).toMatchObject({ admitted: 1 })
    await receiver.drain()
    expect(events).toMatchObject([{ type: 'unrecognized', problem: 'content_encoding', proof: 'signature' }])
  })

  test.each(['utf-8', 'none', 'binary', '8bit'])(
    'is admitted by its authKey alone if Content-Encoding is “%s”, as at arrival',
    async (encoding) => {
      const { url, quarantine, receiver, events, rotateTo } = await rotating()
      const body = JSON.stringify({ ...callback.smsDelivery({ messageId: 'm' }), authKey: A.authKey })
      expect(await postRaw(url, body, { 'content-encoding': encoding })).toBe(401)
      rotateTo(A)
      expect(await quarantine.reverify()).toEqual({ examined: 1, admitted: 1, stillUnproved: 0 })
      await receiver.drain()
      expect(events).toMatchObject([{ type: 'message.delivered', messageId: 'm', proof: 'authKey' }])
      expect(await postRaw(url, body, { 'content-encoding': encoding })).toBe(204)
      expect(await receiver.stats()).toMatchObject({ duplicates: 1 })
    },
  )

  test('keeps the kind and the policy of its URL', async () => {
    const clock = fakeClock(START_MS)
    let pair = B
    const { url, receiver } = await receiving({ clock, credentials: () => pair }, { kind: 'payment', proof: 'both' })
    const types: string[] = []
    receiver.onAny(({ type }) => void types.push(type))
    expect(await send(url, { authKey: A.authKey }, { id: 1 }, START)).toBe(401)
    expect(await send(url, A, { id: 2, type: 'paybill' }, START)).toBe(401)
    pair = A
    expect(await receiver.quarantine.reverify()).toEqual({ examined: 2, admitted: 1, stillUnproved: 1 })
    await receiver.drain()
    expect(types).toEqual(['payment'])
    expect((await receiver.quarantine.list()).items).toMatchObject([{ kind: 'payment', policy: 'both' }])
  })

  test('is kept once, however often it arrives, and by its best proof', async () => {
    const { url, quarantine } = await rotating()
    const body = JSON.stringify(callback.smsDelivery())
    const code = async () => (await quarantine.list()).items.map((item) => [item.class, item.code])
    for (let time = 0; time < 3; time += 1) expect(await postRaw(url, body)).toBe(401)
    expect(await code()).toEqual([['rest', 'signature_missing']])
    const wrong = { 'x-service-signature': signCallback(body, A.signingSecret, { timestamp: START }) }
    for (let time = 0; time < 3; time += 1) expect(await postRaw(url, body, wrong)).toBe(401)
    expect(await code()).toEqual([['looksLikeOurs', 'signature_mismatch']])
    const stale = { 'x-service-signature': signCallback(body, B.signingSecret, { timestamp: START - 1_000 }) }
    expect(await postRaw(url, body, stale)).toBe(401)
    expect(await postRaw(url, body)).toBe(401)
    expect(await code()).toEqual([['provedButStale', 'signature_stale']])
    expect(quarantine.size).toBe(1)
  })

  test('gets its class from its content', async () => {
    const { url, quarantine } = await rotating()
    const report = callback.smsDelivery()
    const signed = (body: string) => ({
      'x-service-signature': signCallback(body, A.signingSecret, { timestamp: START }),
    })
    const bodies: readonly (readonly [body: string, headers: Record<string, string>])[] = [
      [JSON.stringify({ ...report, authKey: A.authKey }), {}],
      [JSON.stringify(report), signed(JSON.stringify(report))],
      [JSON.stringify({ project: 'My Shop', authKey: 'x' }), {}],
      [JSON.stringify({ ...report, authKey: 7 }), {}],
      [JSON.stringify({ ...report, n: 1 }), { 'x-service-signature': 't=1,v1=potato' }],
      [JSON.stringify({ hello: 'world', authKey: 'x' }), {}],
      ['no JSON', signed('no JSON')],
      ['[1]', {}],
    ]
    for (const [body, headers] of bodies) expect(await postRaw(url, body, headers)).toBe(401)
    expect((await quarantine.list()).items.map((item) => item.class)).toEqual([
      ...Array<string>(3).fill('looksLikeOurs'),
      ...Array<string>(5).fill('rest'),
    ])
    expect(quarantine.counts()).toMatchObject({ provedButStale: 0, unverified: 0, looksLikeOurs: 3, rest: 5 })
  })

  test.each([
    ['a name with a NUL', 'either', { project: 'My\0Shop', authKey: 'x' }, true],
    ['a name with half a surrogate pair', 'either', { project: '\ud800', authKey: 'x' }, true],
    ['a name that is too long', 'either', { project: 'x'.repeat(257), authKey: 'x' }, true],
    ['no signature, where one is asked for', 'signature', { authKey: 'x' }, false],
    ['no signature, where both proofs are asked for', 'both', { authKey: 'x' }, false],
    ['no Auth Key, where one is asked for', 'authKey', {}, true],
  ] as const)('with %s is of the class `rest`: no key can ever prove it', async (_, proof, fields, isSigned) => {
    const clock = fakeClock(START_MS)
    const { url, receiver } = await receiving({ clock, credentials: () => B }, { kind: 'status', proof })
    const body = JSON.stringify({ ...callback.smsDelivery(), authKey: undefined, ...fields })
    const headers = { 'x-service-signature': signCallback(body, A.signingSecret, { timestamp: START }) }
    expect(await postRaw(url, body, isSigned ? headers : {})).toBe(401)
    expect(await send(url, A, {}, START)).toBe(401)
    expect((await receiver.quarantine.list()).items.map((item) => item.class)).toEqual(['rest', 'looksLikeOurs'])
  })

  test("with one valid proof of two required ones is not treated as a stranger's", async () => {
    const clock = fakeClock(START_MS)
    const { url, receiver } = await receiving({ clock, credentials: () => B }, { kind: 'status', proof: 'both' })
    expect(await send(url, { authKey: B.authKey }, {}, START)).toBe(401)
    expect(await send(url, { signingSecret: B.signingSecret }, {}, START)).toBe(401)
    expect(receiver.quarantine.counts()).toMatchObject({ looksLikeOurs: 2, rest: 0 })
  })

  test('is erased after its retention time', async () => {
    const { url, quarantine, clock } = await rotating({ quarantine: { maxAgeHours: 1 } })
    await send(url, A, {}, START)
    await clock.advance(1_800_000)
    await send(url, A, {}, START)
    await clock.advance(1_799_999)
    expect(quarantine.size).toBe(2)
    await clock.advance(1)
    expect(quarantine.size).toBe(1)
    await clock.advance(1_800_000)
    expect(quarantine.counts()).toMatchObject({ looksLikeOurs: 0, bytes: 0, dropped: 0 })
  })

  test('is not kept if nothing in it could be proved later', async () => {
    const { url, quarantine, receiver, server } = await rotating({ maxBodyBytes: 1_000 })
    expect((await fetch(url)).status).toBe(405)
    expect(await postRaw(url, '')).toBe(401)
    expect(await postRaw(url, 'x'.repeat(1_001))).toBe(413)
    const { port } = server.address() as net.AddressInfo
    const cut = net.connect(port, '127.0.0.1')
    cut.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{"messa')
    await new Promise((resolve) => cut.resume().once('close', resolve))
    const middleware = receiver.middleware('status')
    const behindParser = http.createServer((request, response) => {
      request.resume().once('end', () => {
        middleware(Object.assign(request, { body: { ...callback.smsDelivery(), authKey: A.authKey } }), response)
      })
    })
    const parsedUrl = await listen(behindParser)
    onTestFinished(() => void behindParser.close())
    expect(await postRaw(parsedUrl, '{}')).toBe(401)
    expect(quarantine.size).toBe(0)
  })

  test('is not kept if the quarantine is off', async () => {
    const { url, quarantine, rotateTo, errors } = await rotating({ quarantine: false })
    expect(await send(url, A, {}, START)).toBe(401)
    rotateTo(A)
    expect(await quarantine.reverify()).toEqual({ examined: 0, admitted: 0, stillUnproved: 0 })
    expect(await quarantine.list()).toEqual({ items: [] })
    expect(quarantine.size).toBe(0)
    expect(errors.map(({ code }) => code)).toEqual(['signature_mismatch'])
  })
})

describe('order', () => {
  test('what arrived in reverse order is dispatched in order, and nothing is late', async () => {
    const { url, quarantine, receiver, events, rotateTo } = await rotating()
    for (const status of ['read', 'sent', 'delivered']) {
      const body = callback.chatApp({ statuses: { message_id: 'chat', status } })
      expect(await send(url, A, { ...body, messageId: undefined, status: undefined }, START)).toBe(401)
    }
    for (const [status, timestamp] of [
      ['success', START - 1],
      ['accepted', START - 2],
    ] as const)
      expect(await send(url, A, { messageId: 'sms', status, timestamp }, START)).toBe(401)
    rotateTo(A)
    expect(await quarantine.reverify()).toMatchObject({ admitted: 5 })
    await receiver.drain()
    const of = (id: string) =>
      events.flatMap((event) => ('messageId' in event && event.messageId === id ? [event.type] : []))
    expect(of('chat')).toEqual(['message.sent', 'message.delivered', 'message.read'])
    expect(of('sms')).toEqual(['message.queued', 'message.delivered'])
    expect(events).toHaveLength(5)
  })
})

describe('a stale signature', () => {
  test('is judged by the time of arrival', async () => {
    const { url, quarantine, clock, rotateTo } = await rotating()
    await send(url, { signingSecret: A.signingSecret }, {}, START)
    await send(url, { signingSecret: A.signingSecret }, {}, START + 301)
    await clock.advance(301_000)
    rotateTo(A)
    expect(await quarantine.reverify()).toEqual({ examined: 2, admitted: 1, stillUnproved: 1 })
    const { items } = await quarantine.list()
    expect(items).toMatchObject([{ class: 'provedButStale', code: 'signature_stale', offsetSeconds: -301 }])
  })

  test('counts in a dry run as it would be admitted, without changes', async () => {
    const { url, quarantine, receiver, events, rotateTo } = await rotating()
    expect(await send(url, A, { messageId: 'm' }, START)).toBe(401)
    expect(await send(url, A, { messageId: 'stale' }, START - 1_000)).toBe(401)
    const before = await quarantine.list()
    expect(await quarantine.reverify({ dryRun: true })).toEqual({ examined: 2, admitted: 0, stillUnproved: 2 })
    rotateTo(A)
    expect(await quarantine.reverify({ dryRun: true })).toEqual({ examined: 2, admitted: 1, stillUnproved: 1 })
    const withOffset = { dryRun: true, clockOffsetSeconds: 1_000 }
    expect(await quarantine.reverify(withOffset)).toEqual({ examined: 2, admitted: 1, stillUnproved: 1 })
    expect(await quarantine.list()).toEqual(before)
    await receiver.drain()
    expect([events, (await receiver.stats()).accepted]).toEqual([[], 0])
    expect(await quarantine.reverify()).toEqual({ examined: 2, admitted: 1, stillUnproved: 1 })
  })

  test('with the right digest passes by the measured offset', async () => {
    const { url, quarantine, receiver, events } = await rotating()
    expect(await send(url, B, { messageId: 'm' }, START - 3_600)).toBe(401)
    const [item] = (await quarantine.list()).items
    expect(item).toMatchObject({ class: 'provedButStale', offsetSeconds: 3_600 })
    expect(await quarantine.reverify({ clockOffsetSeconds: -3_600 })).toMatchObject({ admitted: 0 })
    expect((await quarantine.list()).items).toEqual([item])
    expect(await quarantine.reverify({ clockOffsetSeconds: item?.offsetSeconds ?? 0 })).toMatchObject({ admitted: 1 })
    await receiver.drain()
    expect(events).toMatchObject([{ messageId: 'm' }])
    await expect(quarantine.reverify({ clockOffsetSeconds: NaN })).rejects.toThrow('clockOffsetSeconds')
  })

  test('five times in a row off by the same means this clock is wrong, and is reported once', async () => {
    const { url, errors, clock } = await rotating()
    const clockErrors = () => errors.filter(({ code }) => code === 'clock_wrong')
    for (let second = 0; second < 9; second += 1) {
      await send(url, B, {}, START + second - 3_600)
      expect(clockErrors()).toHaveLength(second < 4 ? 0 : 1)
      await clock.advance(1_000)
    }
    expect(clockErrors()[0]?.message).toMatch(/3600 s ahead of the service.*clockOffsetSeconds` is 3600/)
    await send(url, B, {}, START + 9)
    for (let second = 10; second < 20; second += 1) await send(url, B, {}, START + 2 * second)
    expect(clockErrors()).toHaveLength(1)
  })
})

describe('a look-up of credentials that fails', () => {
  test('for 10 s loses nothing, and is retried by itself', async () => {
    let down = true
    let asked = 0
    const { url, clock, quarantine, receiver, events, errors } = await rotating({
      credentials: () => {
        asked += 1
        if (down) throw new Error('down')
        return A
      },
    })
    for (let second = 0; second < 10; second += 1) {
      for (const status of ['success', 'accepted'])
        expect(await send(url, A, { messageId: `m${second}`, status }, START + second)).toBe(503)
      await clock.advance(1_000)
    }
    expect(quarantine.counts()).toMatchObject({ unverified: 20, looksLikeOurs: 0 })
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['credentials_failed']))
    // Each run asks once for the one name: after 1, 2, 4 and 8 s.
    expect(asked).toBe(20 + 3)
    down = false
    await clock.advance(10_000)
    expect(quarantine.size).toBe(0)
    await receiver.drain()
    expect(events).toHaveLength(20)
    expect(events.filter(({ type }) => type === 'late')).toEqual([])
  })

  test('is fixed by the next one that succeeds', async () => {
    let down = true
    const { url, quarantine, receiver, events } = await rotating({
      credentials: () => (down ? Promise.reject(new Error('down')) : A),
    })
    expect(await send(url, A, { messageId: '1' }, START)).toBe(503)
    down = false
    expect(await send(url, A, { messageId: '2' }, START)).toBe(204)
    await expect.poll(() => quarantine.size).toBe(0)
    await receiver.drain()
    expect(events).toHaveLength(2)
  })

  test('does not wait for any number of failing names: known names, and the most frequent ones, are looked up in each run', async () => {
    let down = false
    const asked: (string | undefined)[] = []
    const { url, clock, receiver, events } = await rotating({
      credentials: (project) => {
        asked.push(project)
        if (down || !['My Shop', 'Known'].includes(project ?? '')) throw new Error('down')
        return A
      },
    })
    expect(await send(url, A, { project: 'Known' }, START)).toBe(204)
    down = true
    await junk(url, 70)
    for (const messageId of ['1', '2']) expect(await send(url, A, { messageId }, START)).toBe(503)
    expect(await send(url, A, { project: 'Known', messageId: '3' }, START)).toBe(503)
    // Each run fails, and gets more new names than it looks up.
    for (const pauseMs of [1_000, 2_000, 4_000]) {
      asked.length = 0
      await clock.advance(pauseMs)
      expect(asked).toContain('My Shop')
      expect(asked).toContain('Known')
      expect(asked.length).toBeLessThanOrEqual(64)
      await junk(url, 70)
    }
    down = false
    await clock.advance(8_000)
    await receiver.drain()
    expect(events).toHaveLength(4)
  })

  test('reaches a name with a single request, even if new failing names never end', async () => {
    let down = true
    const { url, clock, receiver, events } = await rotating({
      credentials: (project) => {
        if (down || project !== 'My Shop') throw new Error('down')
        return A
      },
    })
    expect(await send(url, A, {}, START)).toBe(503)
    await junk(url, 10)
    await clock.advance(1_000)
    down = false
    // By now it was looked up, and failed.
    for (let run = 0; run < 4 && events.length === 0; run += 1) {
      await junk(url, 70)
      await clock.advance(60_000)
      await receiver.drain()
    }
    expect(events).toHaveLength(1)
  })

  test('and is slow for invented names looks up the other names first in the next run', async () => {
    let down = true
    const { url, clock, quarantine } = await rotating({
      lookupTimeoutMs: 10,
      credentials: (project) => {
        if (down) throw new Error('down')
        return project === 'My Shop' ? A : new Promise(() => {})
      },
    })
    for (const project of ['slow 1', 'slow 2', 'slow 3', 'slow 4'])
      for (const messageId of ['1', '2']) await send(url, A, { project, messageId }, START)
    await send(url, A, {}, START)
    down = false
    const run = async (): Promise<unknown> => {
      const ended = quarantine.reverify()
      while (!(await Promise.race([ended.then(() => true), clock.advance(1).then(() => false)]))) continue
      return ended
    }
    expect(await run()).toMatchObject({ admitted: 0 })
    expect(await run()).toMatchObject({ admitted: 1 })
  })

  test('leaves requests that the right look-up does not prove where they belong, and does not ask again', async () => {
    let down = true
    const { url, clock, quarantine } = await rotating({
      credentials: () => {
        if (down) throw new Error('down')
        return B
      },
    })
    await send(url, A, {}, START)
    await postRaw(url, 'junk')
    expect(quarantine.counts()).toMatchObject({ unverified: 1, rest: 1 })
    down = false
    await clock.advance(1_000)
    expect(quarantine.counts()).toMatchObject({ unverified: 0, looksLikeOurs: 1, rest: 1 })
    expect((await quarantine.list()).items).toMatchObject([
      { code: 'signature_mismatch' },
      { code: 'signature_missing' },
    ])
  })

  test('is reported by `reverify`, which leaves the request where it is', async () => {
    const { url, quarantine, errors } = await rotating({
      credentials: () => {
        throw new Error('down')
      },
    })
    await send(url, A, {}, START)
    errors.length = 0
    expect(await quarantine.reverify()).toEqual({ examined: 1, admitted: 0, stillUnproved: 1 })
    expect(errors).toMatchObject([{ code: 'credentials_failed' }])
    expect(quarantine.counts()).toMatchObject({ unverified: 1 })
  })
})

describe('reverify', () => {
  test('ends with its signal, and keeps what was not admitted', async () => {
    const { url, quarantine, rotateTo } = await rotating()
    for (let nth = 0; nth < 10; nth += 1) await send(url, A, {}, START)
    rotateTo(A)
    await expect(quarantine.reverify({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    const controller = new AbortController()
    const run = quarantine.reverify({ signal: controller.signal })
    controller.abort(new Error('stop'))
    await expect(run).rejects.toThrow('stop')
    expect(quarantine.size).toBe(10)
    expect(await quarantine.reverify()).toMatchObject({ admitted: 10 })
  })

  test('runs one at a time, and no request is admitted twice', async () => {
    const { url, quarantine, receiver, rotateTo } = await rotating()
    for (let nth = 0; nth < 10; nth += 1) await send(url, A, {}, START)
    rotateTo(A)
    const runs = await Promise.all([quarantine.reverify(), quarantine.reverify()])
    expect(runs.map(({ admitted }) => admitted)).toEqual([10, 0])
    expect(await receiver.stats()).toMatchObject({ accepted: 10, duplicates: 0 })
  })

  test('rejects when the store is full, and continues where it was', async () => {
    const { url, quarantine, receiver, rotateTo } = await rotating({ store: memoryStore({ maxEvents: 4 }) })
    for (let nth = 0; nth < 6; nth += 1) await send(url, A, { messageId: String(nth) }, START)
    rotateTo(A)
    await expect(quarantine.reverify()).rejects.toMatchObject({ code: 'store_full' })
    expect(quarantine.size).toBe(2)
    await receiver.drain()
    expect(await quarantine.reverify()).toMatchObject({ admitted: 2 })
  })
})

describe('list', () => {
  test('pages through the requests in order of arrival', async () => {
    const { url, quarantine } = await rotating()
    for (let nth = 0; nth < 7; nth += 1) await postRaw(url, JSON.stringify({ nth, authKey: nth % 2 ? 'x' : 7 }))
    const seen: unknown[] = []
    let after: string | undefined
    let pages = 0
    do {
      const page = await quarantine.list({ limit: 3, ...(after === undefined ? {} : { after }) })
      seen.push(...page.items.map(({ payload }) => payload?.['nth']))
      after = page.next
      pages += 1
    } while (after !== undefined)
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(pages).toBe(3)
  })

  const KEY = 'THE-KEY-THAT-IS-NOT-CONFIGURED-HERE'
  const HIDDEN: readonly (readonly [where: string, body: string])[] = [
    ['at the top', `{"project":"p","authKey":"${KEY}"}`],
    ['spelled with escapes', `{"project":"p","\\u0061uthKey":"${KEY}"}`],
    ['deep inside', `{"project":"p","a":[{"b":{"authKey":"${KEY}"}}]}`],
    ['twice', `{"project":"p","authKey":"${KEY}","authKey":"${KEY}"}`],
    ['inside an object', `{"project":"p","authKey":{"v":["${KEY}"]}}`],
    ['under a name that is nearly right', `{"project":"p","auth_key":"${KEY}","AuthKey":"${KEY}"}`],
    ['in a text that is JSON', JSON.stringify({ project: 'p', inner: `{"\\u0061uthKey":"${KEY}"}` })],
    ['in a text that is a form', JSON.stringify({ project: 'p', inner: `project=p&authKey=${KEY}` })],
    ['in JSON twice over', JSON.stringify(`{"authKey":"${KEY}"}`)],
    ['in no JSON', `authKey=${KEY}`],
    ['in a list', `[{"authKey":"${KEY}"}]`],
    ['in half a body', `{"project":"p","authKey":"${KEY}"`],
  ]

  test.each(HIDDEN)('hides a key %s everywhere, except with `reveal`', async (_where, body) => {
    const lines: unknown[] = []
    const log = (...line: unknown[]): void => void lines.push(line)
    const logger: Logger = { debug: log, info: log, warn: log, error: log }
    const { url, quarantine, errors, receiver } = await rotating({ logger })
    const response = await fetch(url, { method: 'POST', body, headers: { 'x-service-signature': `t=1,v1=${KEY}` } })
    const page = await quarantine.list()
    expect(page.items).toHaveLength(1)
    const [reverified] = await Promise.all([quarantine.reverify()])
    const shown = inspect([page, lines, errors, receiver, quarantine, reverified], { depth: null, showHidden: true })
    for (const text of [await response.text(), JSON.stringify(page), shown]) expect(text).not.toContain(KEY)
    const [revealed] = (await quarantine.list({ reveal: true })).items
    expect(revealed?.raw?.toString()).toBe(body)
    expect(revealed?.signatures).toEqual([`t=1,v1=${KEY}`])
  })
})

test('validates the quarantine’s options', () => {
  const refusal = (quarantine: unknown) => () =>
    void Reflect.apply(createReceiver, undefined, [{ credentials: A, logger: false, quarantine }])
  expect(refusal({ maxByte: 1 })).toThrow('Invalid option: quarantine.maxByte. Did you mean quarantine.maxBytes?')
  expect(refusal(true)).toThrow('quarantine is true; expected { maxBytes, maxAgeHours, folder }, or false')
  expect(refusal(false)).not.toThrow()
})
