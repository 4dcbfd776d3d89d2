/** Passes marker secrets in and searches all output for them: as text, as JSON, inspected, and as bytes. */
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { inspect } from 'node:util'
import type { ProofPolicy, WebhookEvent } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ownFolder } from '../support/own-folder.ts'
import { A, B, send } from '../support/pairs.ts'
import { receiving } from '../support/receiving.ts'

const AUTH_KEY = 'MARKER-AUTH-KEY-7f3a'
const SECRET = 'MARKER-SIGNING-SECRET-91bc'
const ESCAPED = Array.from(AUTH_KEY, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
/** Part of every body; no error may quote it. */
const BODY_MARKER = 'MARKER-IN-THE-BODY'

const credentials = { authKey: AUTH_KEY, signingSecret: SECRET }

afterEach(() => void vi.restoreAllMocks())

/** Bodies of every kind, with the key in every position and spelling. */
const BODIES: Readonly<Record<string, string | Buffer>> = {
  'in the reason': JSON.stringify(callback.smsDelivery({ status: 'failed', description: `key ${AUTH_KEY}` })),
  'in the id': JSON.stringify({
    ...callback.smsDelivery({ messageId: AUTH_KEY, channel: AUTH_KEY }),
    recipient: AUTH_KEY,
  }),
  'in a chat-app error': JSON.stringify(callback.chatApp({ statuses: { status: 'failed', error: AUTH_KEY } })),
  sms: JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY })),
  'chat-app': JSON.stringify(callback.chatApp({ authKey: AUTH_KEY, statuses: { status: 'failed' } })),
  payment: JSON.stringify(callback.payment({ authKey: AUTH_KEY })),
  subscription: JSON.stringify(callback.subscription({ authKey: AUTH_KEY })),
  nested: JSON.stringify(callback.payment({ authKey: AUTH_KEY, data: { list: [{ authKey: AUTH_KEY }] } })),
  'an object as key': JSON.stringify({ ...callback.smsDelivery(), authKey: { value: AUTH_KEY, list: [AUTH_KEY] } }),
  twice: `{"messageId":"1","status":"success","authKey":"wrong","authKey":"${AUTH_KEY}"}`,
  'twice, the other way': `{"messageId":"1","status":"success","authKey":"${AUTH_KEY}","authKey":"wrong"}`,
  'with an escaped name': `{"messageId":"1","status":"success","\\u0061uth\\u004bey":"${AUTH_KEY}"}`,
  'escaped itself': `{"messageId":"1","status":"success","authKey":"${ESCAPED}"}`,
  'in another field': JSON.stringify({ ...callback.smsDelivery(), note: `the key is ${AUTH_KEY}`, list: [AUTH_KEY] }),
  'in a list': JSON.stringify([{ authKey: AUTH_KEY }]),
  'in a JSON string': JSON.stringify(JSON.stringify({ authKey: AUTH_KEY })),
  'no JSON': `authKey=${AUTH_KEY}&messageId=1`,
  'cut off': `{"messageId":"1","authKey":"${AUTH_KEY}`,
  'JSON and more': `{"authKey":"${AUTH_KEY}"}{"authKey":"${AUTH_KEY}"}`,
  'too deep': `${'{"a":'.repeat(70)}{"authKey":"${AUTH_KEY}"}${'}'.repeat(70)}`,
  'in UTF-16': Buffer.from(JSON.stringify({ authKey: AUTH_KEY }), 'utf16le'),
  'in UTF-16, the other way': Buffer.from(JSON.stringify({ authKey: AUTH_KEY }), 'utf16le').swap16(),
}

/** Everything that a value shows when it is printed in any of the usual ways. */
function shownOf(value: unknown): string {
  const shown = [
    inspect(value, { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null }),
    JSON.stringify(value),
  ]
  for (let error = value; error instanceof Error; error = error.cause)
    shown.push(error.message, error.stack ?? '', String(error), inspect(error), JSON.stringify(error))
  return shown.join('\n')
}

function expectNoSecret(shown: string, digest = 'no digest'): void {
  for (const secret of [AUTH_KEY, SECRET, digest]) {
    expect(shown).not.toContain(secret)
    expect(shown).not.toContain(Buffer.from(secret).toString('base64'))
    expect(shown).not.toContain(Buffer.from(secret).toString('hex'))
    expect(shown).not.toContain([...Buffer.from(secret)].join(','))
  }
}

function expectNoSecretBytes(raw: Buffer): void {
  for (const encoding of ['utf8', 'utf16le'] as const) expect(raw.includes(Buffer.from(AUTH_KEY, encoding))).toBe(false)
  expect(raw.includes(Buffer.from(AUTH_KEY, 'utf16le').swap16())).toBe(false)
  expect(raw.includes(Buffer.from(ESCAPED))).toBe(false)
}

function expectedDigest(body: string | Buffer, timestamp: number): string {
  return createHmac('sha256', SECRET).update(`${timestamp}.`).update(body).digest('hex')
}

/** Everything that a receiver shows of one request: to the client, its logger, `onError`, the console and handlers. */
async function everythingShown(
  body: string | Buffer,
  headers: Record<string, string>,
  { proof = 'either', failing = true }: { readonly proof?: ProofPolicy; readonly failing?: boolean } = {},
) {
  const shown: string[] = []
  for (const level of ['log', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((...line: unknown[]) => void shown.push(...line.map(shownOf)))
  const log = (...line: unknown[]): void => void shown.push(...line.map(shownOf))
  const events: WebhookEvent[] = []
  for (const logger of [undefined, { debug: log, info: log, warn: log, error: log }]) {
    const { receiver, url, errors } = await receiving(
      { credentials, logger, proof, retry: { attempts: 1 }, ordering: { gapTimeoutMs: 0 } },
      {},
    )
    receiver.onAny((event) => {
      events.push(event)
      if (failing) throw new Error('a handler fails')
    })
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : new Uint8Array(body),
    })
    shown.push(shownOf([...response.headers]), await response.text())
    await receiver.drain()
    shown.push(...errors.map(shownOf), shownOf(await receiver.deadLetters.list()), shownOf(await receiver.stats()))
    for (const event of events)
      if ('messageId' in event) shown.push(shownOf(await receiver.messageState(event.messageId)))
  }
  shown.push(...events.map(shownOf))
  return { shown: shown.join('\n'), events }
}

test.each(Object.entries(BODIES))('an accepted callback never shows its key %s', async (_what, body) => {
  const signature = signCallback(body, SECRET)
  const { shown, events } = await everythingShown(body, { 'x-service-signature': signature })
  expect(events).toHaveLength(2)
  expectNoSecret(shown, signature.slice(-64))
  for (const { raw } of events) {
    expectNoSecretBytes(raw)
    expect(raw).toHaveLength(Buffer.byteLength(body))
  }
})

test.each(Object.entries(BODIES))(
  'a refused callback with a key %s shows neither the key nor the body',
  async (_what, body) => {
    const timestamp = Math.floor(Date.now() / 1_000)
    const digest = expectedDigest(body, timestamp)
    const headers = {
      'x-service-signature': `t=${timestamp},v1=${digest.replace(/^./, digest.startsWith('0') ? '1' : '0')}`,
    }
    const { shown, events } = await everythingShown(body, headers, { proof: 'signature' })
    expect(events).toEqual([])
    expectNoSecret(shown, digest)
  },
)

test.each([
  `{"${BODY_MARKER}`,
  BODY_MARKER,
  JSON.stringify({ authKey: BODY_MARKER, project: BODY_MARKER }),
  JSON.stringify({ authKey: [BODY_MARKER] }),
])('no error text quotes the body %s', async (body) => {
  for (const headers of [{}, { 'x-service-signature': `t=1,v1=${BODY_MARKER}` }]) {
    const { shown } = await everythingShown(body, headers)
    expect(shown).not.toContain(BODY_MARKER)
  }
})

test('an event prints without its bytes', async () => {
  const { events } = await everythingShown(BODIES['sms'] ?? '', {
    'x-service-signature': signCallback(BODIES['sms'] ?? '', SECRET),
  })
  const [event] = events
  expect(Object.keys(event ?? {})).not.toContain('raw')
  expect(JSON.stringify(event)).not.toContain('raw')
  expect(inspect(event)).not.toContain('Buffer')
  expect({ ...event }).not.toHaveProperty('raw')
})

test('schema errors do not repeat the payload', async () => {
  const payment = z.strictObject({ authKey: z.literal(AUTH_KEY), note: z.string().max(1) })
  const shown: unknown[] = []
  const log = (...line: unknown[]): void => void shown.push(line)
  const { receiver, url, errors } = await receiving(
    { credentials, schemas: { payment }, logger: { debug: log, info: log, warn: log, error: log } },
    { kind: 'payment' },
  )
  receiver.onAny((event) => void shown.push(event))
  const body = JSON.stringify({ authKey: AUTH_KEY, note: 'too long', [BODY_MARKER]: 1 })
  await fetch(url, { method: 'POST', body, headers: { 'x-service-signature': signCallback(body, SECRET) } })
  await receiver.drain()
  expect(shown).toContainEqual(expect.objectContaining({ type: 'unrecognized', problem: 'schema_refused' }))
  expectNoSecret(shownOf([shown, errors]))
  expect(shownOf(errors)).not.toContain(BODY_MARKER)
})

test('errors about credentials from a function contain no value', async () => {
  for (const answer of [
    { authKey: AUTH_KEY, signingSecret: '' },
    { authKey: AUTH_KEY, notAfter: NaN },
    [{ authKey: AUTH_KEY }, SECRET],
    SECRET,
  ]) {
    const { url, errors } = await receiving({ credentials: () => answer as typeof credentials })
    const response = await fetch(url, { method: 'POST', body: '{"project":"p"}' })
    expect(response.status).toBe(503)
    expect(errors).toMatchObject([{ code: 'credentials_invalid' }])
    expectNoSecret(shownOf([errors, ...errors]) + (await response.text()))
  }
})

test('keys are in the local file while their request is in quarantine, and in no other file', async () => {
  const folder = ownFolder()
  let pair = B
  const { receiver, url } = await receiving({
    credentials: () => pair,
    store: sqliteStore(join(folder, 'inbox.db')),
    quarantine: {},
  })
  const given: string[] = []
  receiver.onAny(({ id }) => void given.push(id))
  await receiver.start()
  const files = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
  expect(await send(url, A)).toBe(401)
  const having = (secret: string) => files().filter((path) => readFileSync(path).includes(secret))
  await expect.poll(() => having(A.authKey).length).toBeGreaterThan(0)
  for (const path of having(A.authKey)) expect(basename(path)).toMatch(/^local\.db/)
  pair = A
  // The start verifies the quarantine too, and may do so only now.
  await receiver.quarantine.reverify()
  await expect.poll(() => given).toHaveLength(1)
  expect(await send(url, A, { messageId: 'accepted at once' })).toBe(204)
  for (const secret of [A.authKey, A.signingSecret, B.authKey, B.signingSecret])
    await expect.poll(() => having(secret)).toEqual([])
})
