/** Only a holder of the credentials learns that there is a doctor, or anything from it; a probe is never an event. */
import { createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { signCallback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { AUTH_KEY, receiving, SIGNING_SECRET } from '../../support/receiving.ts'
import { askDoctor, faultsOf, PAIR, proxying, serving } from './asking.ts'

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
  const url = await serving(receiver.middleware('status'))
  const recorded: Recorded[] = []
  const front = await proxying(url, ({ body, headers }) => {
    const at = headers.findIndex((name) => name.toLowerCase() === 'x-service-signature')
    recorded.push({ body, signature: headers[at + 1] ?? '' })
  })
  return { receiver, errors, handled, url, front, recorded }
}

/** A message id in the format of a probe's, with these tags. */
function probeIdOf(...tags: readonly string[]): string {
  return ['messaging-webhooks-doctor', Date.now().toString(36), '0'.repeat(32), ...tags].join('.')
}

/** The answer as decrypted with `key`. */
function openAnswer(sealed: string, key: string, messageId: string): unknown {
  const bytes = Buffer.from(sealed, 'base64url')
  const answerKey = createHmac('sha256', key).update(`messaging-webhooks doctor, answer\n${messageId}`).digest()
  const decipher = createDecipheriv('aes-256-gcm', answerKey, bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(-16))
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString())
}

const FORGERY = { body: Buffer.from('{"messageId":"m-1","status":"success"}'), signature: `t=1,v1=${'0'.repeat(64)}` }

test('a replayed probe gets the answer of a forgery', async () => {
  const { receiver, errors, handled, url, front, recorded } = await intercepted()
  const forged = await answerTo(url, FORGERY)
  expect(forged.status).toBe(401)
  expect(faultsOf(await askDoctor(front))).toEqual([])
  expect(recorded.length).toBeGreaterThan(5)
  const kept = (await receiver.quarantine.list()).items.length
  for (const probe of recorded) expect(await answerTo(url, probe)).toEqual(forged)
  expect(errors.slice(1).map(({ code }) => code)).toEqual(recorded.map(() => 'probe_refused'))
  await receiver.drain()
  expect(handled).toEqual([])
  expect((await receiver.quarantine.list()).items).toHaveLength(kept)
})

test('a caller with the reserved name but no pair gets the answer of a forgery', async () => {
  const { receiver, errors, url } = await intercepted()
  const forged = await answerTo(url, FORGERY)
  const guesses = [
    `messaging-webhooks-doctor.${Date.now().toString(36)}.${randomBytes(16).toString('hex')}.${randomBytes(32).toString('hex')}`,
    'messaging-webhooks-doctor.',
    'messaging-webhooks-doctor',
  ]
  for (const messageId of guesses) {
    const body = Buffer.from(JSON.stringify({ messageId, status: 'success' }))
    expect(await answerTo(url, { body, signature: signCallback(body, 'a guess') })).toEqual(forged)
  }
  // The same reasons and the same quarantine as for any other.
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['signature_stale', 'signature_mismatch']))
  expect((await receiver.quarantine.list()).items).toHaveLength(1 + guesses.length)
})

test('a caller with only the Auth Key learns no more from a probe than from a callback', async () => {
  const { receiver, handled, url } = await intercepted()
  for (const otherTags of [[], ['0'.repeat(64)]]) {
    const time = Date.now().toString(36)
    const nonce = randomBytes(16).toString('hex')
    const tag = createHmac('sha256', AUTH_KEY).update(`messaging-webhooks doctor, probe\n${time}\n${nonce}`)
    const messageId = ['messaging-webhooks-doctor', time, nonce, ...otherTags, tag.digest('hex')].join('.')
    const body = Buffer.from(JSON.stringify({ messageId, status: 'success', authKey: AUTH_KEY }))
    const signature = `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}`
    const answer = await answerTo(url, { body, signature })
    // A callback with that key is answered 204, too. The answer says nothing of the app.
    expect(answer).toMatchObject({ status: 204, text: '' })
    expect(openAnswer(answer.headers[ANSWER_HEADER] ?? '', AUTH_KEY, messageId)).toEqual({ onlyAuthKey: true })
  }
  await receiver.drain()
  expect(handled).toEqual([])
})

test.each([
  ['with the beginning of a probe’s message id', 'messaging-webhooks-doctor.'],
  ['with an id in the form of an older probe’s', `messaging-webhooks-doctor.1.${'0'.repeat(32)}.${'0'.repeat(64)}.`],
  ['with a message id in the whole form of a probe’s', probeIdOf('0'.repeat(64), '0'.repeat(64))],
])('keeps a callback %s: no half of the pair marked it', async (_, messageId) => {
  const { receiver, handled, url } = await intercepted()
  const body = Buffer.from(JSON.stringify({ messageId, status: 'success', network: 'carrier' }))
  expect((await answerTo(url, { body, signature: signCallback(body, SIGNING_SECRET) })).status).toBe(204)
  await receiver.drain()
  expect(handled).toMatchObject([{ messageId }])
})

test('keeps a probe that became unreadable, as any unreadable callback', async () => {
  const { receiver, handled, url } = await intercepted()
  const body = Buffer.from('{"messageId":"messaging-webhooks-doctor.1.2.3",')
  expect((await answerTo(url, { body, signature: signCallback(body, SIGNING_SECRET) })).status).toBe(204)
  await receiver.drain()
  expect(handled).toMatchObject([{ type: 'unrecognized', problem: 'not_json' }])
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

test('keeps an unreadable callback that mentions the doctor, as any other', async () => {
  const { receiver, handled, url } = await intercepted()
  const text = JSON.stringify('"messageId":"messaging-webhooks-doctor.1.2.3" is what I got')
  const body = Buffer.from(`{"messageId":"m-1","text":${text},`)
  expect((await answerTo(url, { body, signature: signCallback(body, SIGNING_SECRET) })).status).toBe(204)
  await receiver.drain()
  expect(handled).toHaveLength(1)
})

test('a refused probe does not become an event when its pair is added', async () => {
  const live = { pair: { authKey: 'auth-key-of-another', signingSecret: 'signing-secret-of-another' } }
  const { receiver, handled, url } = await intercepted({ credentials: () => live.pair })
  expect(faultsOf(await askDoctor(url))).toEqual(['pair_wrong'])
  expect((await receiver.quarantine.list()).items.length).toBeGreaterThan(0)
  live.pair = { ...PAIR }
  expect(await receiver.quarantine.reverify()).toMatchObject({ admitted: 0 })
  await receiver.drain()
  expect(handled).toEqual([])
})

test('the answer is sealed, and reveals nothing of the app', async () => {
  const answers: string[] = []
  const { receiver } = await receiving()
  const middleware = receiver.middleware('status')
  const url = await serving((request, response) => {
    response.on('finish', () => void answers.push(String(response.getHeader(ANSWER_HEADER))))
    middleware(request, response)
  })
  await askDoctor(url)
  expect(answers.length).toBeGreaterThan(5)
  for (const answer of answers) {
    expect(Buffer.from(answer, 'base64url').toString('latin1')).not.toContain('maxBodyBytes')
    // Proxies limit the headers of an answer to four kilobytes.
    expect(answer.length).toBeLessThan(1_000)
  }
})

test('sends requests only to the URL, with only the fields that the service sends', async () => {
  const seen: IncomingHttpHeaders[] = []
  const targets = new Set<string>()
  const { receiver } = await receiving()
  receiver.onAny(() => {})
  const middleware = receiver.middleware('status')
  const url = await serving((request, response) => {
    seen.push(request.headers)
    targets.add(`${request.method ?? ''} ${request.url ?? ''}`)
    middleware(request, response)
  })
  await askDoctor(`${url}webhooks/status?a=1`)
  expect([...targets]).toEqual(['POST /webhooks/status?a=1'])
  const names = new Set(seen.flatMap((headers) => Object.keys(headers)))
  const expected = ['accept', 'connection', 'content-length', 'content-type', 'host', 'x-service-signature']
  expect([...names].toSorted()).toEqual(expected)
})
