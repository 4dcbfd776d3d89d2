/** What the sender posts, and how it records failures. */
import https from 'node:https'
import { inspect } from 'node:util'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { planFaults } from '../../src/emulator/faults.ts'
import type { Outgoing } from '../../src/emulator/outgoing.ts'
import { makeCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { AUTH_KEY, listen, receiving } from '../support/receiving.ts'
import { titleWith } from '../support/skipping.ts'
import { outgoing, DEADLINE_MS, NOW_MS, sending, serving } from './playing.ts'

vi.setConfig({ testTimeout: 2 * DEADLINE_MS })

test('a payload’s own authKey is replaced by the project’s', async () => {
  const { url, seen } = await serving()
  const { sender } = sending()
  await sender.send(outgoing(url, { messageId: 'm', authKey: 'another' }))
  expect(JSON.parse(Buffer.concat(seen[0]?.chunks ?? []).toString())).toEqual({ messageId: 'm', authKey: AUTH_KEY })
})

test.each([200, 307, 401, 500])('%d is recorded: not followed, not tried again', async (status) => {
  const elsewhere = await serving()
  const { url, seen } = await serving((request, response) => {
    request.resume()
    response.writeHead(status, { location: elsewhere.url }).end('an answer')
  })
  const { sender } = sending()
  expect(await sender.send(outgoing(url, callback.payment(), { kind: 'payment' }))).toMatchObject([
    { kind: 'payment', status, intact: true, sent: true },
  ])
  expect(seen).toHaveLength(1)
  expect(elsewhere.seen).toHaveLength(0)
})

test('gives up on an answer that never comes, and records the status of one that never ends', async () => {
  const silent = await serving((request) => void request.resume())
  const endless = await serving((request, response) => {
    request.resume()
    response.writeHead(200).write('x')
  })
  const { sender } = sending({ callbackTimeoutMs: 200 })
  const [delivery] = await sender.send(outgoing(silent.url, callback.payment()))
  expect(delivery).toMatchObject({ sent: true, intact: true, error: 'no answer within 200 ms' })
  expect(delivery).not.toHaveProperty('status')
  expect(await sender.send(outgoing(endless.url, callback.payment()))).toMatchObject([{ status: 200 }])
})

test.each<readonly [what: string, url: (free: string) => string, payload: Outgoing['payload'], error: string]>([
  ['a closed port', (free) => free, callback.payment(), 'ECONNREFUSED'],
  ['an invalid URL', () => 'nonsense', callback.payment(), 'the callback URL is not an http or https URL'],
  [
    'a URL of another scheme',
    () => 'ftp://127.0.0.1/',
    callback.payment(),
    'the callback URL is not an http or https URL',
  ],
  [
    'a URL with invalid credentials',
    (free) => free.replace('http://', 'http://%E0%A4:passphrase@'),
    callback.payment(),
    'the callback URL cannot be posted to',
  ],
  ['a payload that is not JSON', (free) => free, { amount: 10n }, 'the payload cannot be written as JSON'],
])('records %s, without credentials', async (_, urlOf, payload, error) => {
  const { sender } = sending()
  const sent = await sender.send(outgoing(urlOf(`http://127.0.0.1:${await freePort()}/`), payload))
  expect(sent).toMatchObject([{ sent: false, intact: false, error }])
  expect(inspect(sent, { depth: null })).not.toContain('passphrase')
})

test('close cuts running requests, drops queued ones, and accepts no more', async () => {
  const { url, seen } = await serving((request) => void request.resume())
  const { sender } = sending({ faults: { reorder: 0.5 } })
  const sent = Promise.all(
    Array.from({ length: 20 }, (_, nth) => sender.send(outgoing(url, callback.smsDelivery({ messageId: `m-${nth}` })))),
  )
  await expect.poll(() => seen.length, { timeout: DEADLINE_MS }).toBeGreaterThan(0)
  await sender.close()
  const deliveries = (await sent).flat()
  expect(deliveries.map(({ error }) => error)).toEqual(deliveries.map(() => 'the sender was closed'))
  expect(deliveries.some((delivery) => !delivery.sent)).toBe(true)
  expect(await sender.send(outgoing(url, callback.payment()))).toMatchObject([{ sent: false, intact: false }])
})

test('a reordered callback arrives behind the next one of its message, and no other', async () => {
  const faults = { reorder: 0.5 }
  const keys = Array.from({ length: 100 }, (_, nth) => `key ${nth}`)
  const isHeld = (key: string): boolean => planFaults(faults, 1, key, 'both')[0]?.faults.has('reorder') === true
  const [held = '', otherHeld = ''] = keys.filter(isHeld)
  const [other = '', next = ''] = keys.filter((key) => !isHeld(key))
  const { url, seen } = await serving()
  const { sender } = sending({ faults })
  const post = (messageId: string, status: string, key: string) =>
    sender.send(outgoing(url, callback.smsDelivery({ messageId, status }), { key }))
  const all = Promise.all([post('m', 'accepted', held), post('other', 'accepted', otherHeld)])
  await post('another', 'success', other)
  await post('m', 'success', next)
  await all
  const order = seen.map(({ chunks }) => {
    const { messageId, status } = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
    return `${String(messageId)} ${String(status)}`
  })
  expect(order).toEqual(['another success', 'm success', 'm accepted', 'other accepted'])
})

test('posts many callbacks with a bounded number of connections', async () => {
  let open = 0
  let most = 0
  const { url } = await serving((request, response) => {
    open += 1
    most = Math.max(most, open)
    request.resume()
    setTimeout(() => {
      open -= 1
      response.writeHead(204).end()
    }, 1)
  })
  const { sender } = sending()
  const sent = await Promise.all(Array.from({ length: 600 }, () => sender.send(outgoing(url, callback.payment()))))
  expect(sent.flat().every(({ status }) => status === 204)).toBe(true)
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(128)
})

const certificate = makeCertificate()
// Where every test must run, a missing tool fails the run.
const missing = certificate === undefined && process.env['CI'] !== 'true' ? 'no openssl' : undefined

test.skipIf(missing !== undefined)(
  titleWith(missing, 'over TLS, a callback is accepted if the certificate is trusted, and not sent otherwise'),
  async () => {
    const { receiver } = await receiving({ clock: () => NOW_MS })
    const server = https.createServer({ ...certificate }, receiver.middleware('status'))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = (await listen(server)).replace('http:', 'https:')
    expect(await sending().sender.send(outgoing(url, callback.smsDelivery()))).toMatchObject([
      { sent: false, intact: false, error: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    ])
    const { sender } = sending({ ca: certificate?.cert })
    expect(await sender.send(outgoing(url, callback.smsDelivery()))).toMatchObject([
      { url, sent: true, intact: true, status: 204 },
    ])
    expect(await receiver.stats()).toMatchObject({ accepted: 1, refused: 0 })
  },
)
