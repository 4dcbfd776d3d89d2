/** Only a holder of the credentials learns that there is a doctor, or anything from it; a probe is never an event. */
import { createHmac, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { signCallback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { AUTH_KEY, receiving, serve, SIGNING_SECRET } from '../../support/receiving.ts'
import { askDoctor, faultsOf, PAIR, proxying } from './asking.ts'

const ANSWER_HEADER = 'x-messaging-webhooks-doctor'

interface Recorded {
  readonly body: Buffer
  readonly signature: string
}

/** The answer without its date. */
async function answerTo(url: string, { body, signature }: Recorded) {
  const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
  const { date: _, ...rest } = Object.fromEntries(response.headers)
  return { status: response.status, headers: rest, text: await response.text() }
}

/** A receiver behind a proxy that reads everything. */
async function intercepted(options: Parameters<typeof receiving>[0] = {}) {
  const { receiver, errors } = await receiving(options)
  const handled: unknown[] = []
  receiver.onAny((event) => void handled.push(event))
  const url = await serve(receiver.middleware('status'))
  const recorded: Recorded[] = []
  const front = await proxying(url, ({ body, headers }) => {
    const at = headers.findIndex((name) => name.toLowerCase() === 'x-service-signature')
    recorded.push({ body, signature: headers[at + 1] ?? '' })
  })
  return { receiver, errors, handled, url, front, recorded }
}

/** A message id in the format of a probe's, with these tags. */
function probeIdOf(...tags: readonly string[]): string {
  return ['messaging-webhooks-doctor', '0'.repeat(32), ...tags].join('.')
}

const FORGERY = { body: Buffer.from('{"messageId":"m-1","status":"success"}'), signature: `t=1,v1=${'0'.repeat(64)}` }

test('a replayed probe is not an event, and gets the same answer: an HMAC, in the only header that the receiver adds', async () => {
  const nowMs = Date.now()
  const { receiver, errors, handled, url, front, recorded } = await intercepted({ clock: () => nowMs })
  expect(faultsOf(await askDoctor(front))).toEqual([])
  expect(recorded).toHaveLength(1)
  for (const probe of recorded) {
    const answer = await answerTo(url, probe)
    expect(answer.status).toBe(204)
    expect(Object.keys(answer.headers).toSorted()).toEqual(['connection', 'keep-alive', ANSWER_HEADER])
    expect(answer.headers[ANSWER_HEADER]).toMatch(/^[0-9a-f]{64}\.\d{10}$/)
    expect(await answerTo(url, probe)).toEqual(answer)
  }
  await receiver.drain()
  expect([handled, errors, receiver.quarantine.size]).toEqual([[], [], 0])
})

test('a probe replayed after its time is refused and not an event; only its holder of the pair reads why', async () => {
  let nowMs = Date.now()
  const { receiver, errors, handled, url, front, recorded } = await intercepted({ clock: () => nowMs })
  await askDoctor(front)
  nowMs += 400_000
  const forged = await answerTo(url, FORGERY)
  for (const probe of recorded) {
    const { headers, ...answer } = await answerTo(url, probe)
    const { [ANSWER_HEADER]: told, ...others } = headers
    expect({ ...answer, headers: others }).toEqual(forged)
    expect(told).toMatch(new RegExp(`^[0-9a-f]{64}\\.${Math.floor(nowMs / 1_000)}$`))
    // Not under another secret, although it quotes a probe.
    const otherwise = { ...probe, signature: signCallback(probe.body, 'a guess', { timestamp: 1_000_000_000 }) }
    expect(await answerTo(url, otherwise)).toEqual(forged)
  }
  await receiver.drain()
  expect([handled, receiver.quarantine.size]).toEqual([[], 1])
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['signature_stale']))
})

test('a time in the answer that the receiver did not write is not believed', async () => {
  const { url } = await intercepted()
  const front = await serve((request, response) => {
    void buffer(request).then(async (body) => {
      const headers = { 'x-service-signature': String(request.headers['x-service-signature']) }
      const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
      const told = answer.headers.get(ANSWER_HEADER) ?? ''
      response.writeHead(answer.status, { [ANSWER_HEADER]: told.replace(/\d+$/, '1700000000') }).end()
    })
  })
  expect(faultsOf(await askDoctor(front))).toEqual(['other_handler'])
})

test('a caller with the reserved name but no pair gets the answer of a forgery', async () => {
  const { receiver, errors, url } = await intercepted()
  const forged = await answerTo(url, FORGERY)
  const guesses = [
    probeIdOf(randomBytes(32).toString('hex')),
    'messaging-webhooks-doctor.',
    'messaging-webhooks-doctor',
  ]
  for (const messageId of guesses) {
    const body = Buffer.from(JSON.stringify({ messageId, status: 'success' }))
    expect(await answerTo(url, { body, signature: signCallback(body, 'a guess') })).toEqual(forged)
  }
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['signature_stale', 'signature_mismatch']))
  // The service never sends an id in the whole form of a probe's.
  expect((await receiver.quarantine.list()).items).toHaveLength(guesses.length)
})

test('a probe that only the Auth Key marked and proved is not an event', async () => {
  const { receiver, handled, url } = await intercepted()
  for (const otherTags of [[], ['0'.repeat(64)]]) {
    const nonce = randomBytes(16).toString('hex')
    const tag = createHmac('sha256', AUTH_KEY).update(`messaging-webhooks doctor\nprobe\n${nonce}`)
    const messageId = ['messaging-webhooks-doctor', nonce, ...otherTags, tag.digest('hex')].join('.')
    const body = Buffer.from(JSON.stringify({ messageId, status: 'success', authKey: AUTH_KEY }))
    const signature = `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}`
    // A callback with that key is answered 204, too.
    expect(await answerTo(url, { body, signature })).toMatchObject({ status: 204, text: '' })
  }
  await receiver.drain()
  expect(handled).toEqual([])
})

const messageOf = (messageId: string): string => JSON.stringify({ messageId, status: 'success', network: 'carrier' })

test.each([
  ['with the beginning of a probe’s message id', messageOf('messaging-webhooks-doctor.'), 'message.delivered'],
  ['with a probe’s whole message id', messageOf(probeIdOf('0'.repeat(64), '0'.repeat(64))), 'message.delivered'],
  ['that was a probe and became unreadable', '{"messageId":"messaging-webhooks-doctor.1.2.3",', 'unrecognized'],
])('keeps a callback %s: no half of the pair marked it', async (_, text, type) => {
  const { receiver, handled, url } = await intercepted()
  const body = Buffer.from(text)
  expect((await answerTo(url, { body, signature: signCallback(body, SIGNING_SECRET) })).status).toBe(204)
  await receiver.drain()
  expect(handled).toMatchObject([{ type }])
})

test('keeps a callback whose text quotes a probe without escapes, and verifies it again from the quarantine', async () => {
  const live = { pair: { ...PAIR, signingSecret: 'signing-secret-of-another' } }
  const { receiver, handled, url } = await intercepted({ credentials: () => live.pair })
  const quoted = `"messageId":"${probeIdOf('0'.repeat(64))}" is what I got`
  const bodyOf = (text: string) => Buffer.from(`{"messageId":"m-1","text":"${text}"}`)
  const [early, late] = [bodyOf(`${quoted}, once`), bodyOf(`${quoted}, twice`)]
  expect((await answerTo(url, { body: early, signature: signCallback(early, SIGNING_SECRET) })).status).toBe(401)
  live.pair = { ...PAIR }
  expect((await answerTo(url, { body: late, signature: signCallback(late, SIGNING_SECRET) })).status).toBe(204)
  expect(await receiver.quarantine.reverify()).toMatchObject({ admitted: 1 })
  await receiver.drain()
  expect(handled).toMatchObject([{ problem: 'not_json' }, { problem: 'not_json' }])
})

test('a refused probe does not become an event when its pair is added', async () => {
  const live = { pair: { authKey: 'auth-key-of-another', signingSecret: 'signing-secret-of-another' } }
  const { receiver, handled, url } = await intercepted({ credentials: () => live.pair })
  expect(faultsOf(await askDoctor(url))).toEqual(['pair_wrong'])
  expect(receiver.quarantine.size).toBe(0)
  live.pair = { ...PAIR }
  expect(await receiver.quarantine.reverify()).toMatchObject({ admitted: 0 })
  await receiver.drain()
  expect(handled).toEqual([])
})
