/** What the sender posts, and how it records failures. */

import net from 'node:net'
import { inspect } from 'node:util'
import { callback } from 'messaging-webhooks/testing'
import { expect, test, vi } from 'vitest'
import { planFaults } from '../../src/emulator/faults.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'
import { outgoing, DEADLINE_MS, sending, serving } from './playing.ts'

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

test('gives up on an answer that never comes', async () => {
  const { url } = await serving((request) => void request.resume())
  const { sender } = sending({ callbackTimeoutMs: 200 })
  const [delivery] = await sender.send(outgoing(url, callback.payment()))
  expect(delivery).toMatchObject({ sent: true, intact: true, error: 'no answer within 200 ms' })
  expect(delivery).not.toHaveProperty('status')
})

test('records the status of an answer that never ends', async () => {
  const { url } = await serving((request, response) => {
    request.resume()
    response.writeHead(200).write('x')
  })
  const { sender } = sending({ callbackTimeoutMs: 200 })
  expect(await sender.send(outgoing(url, callback.payment()))).toMatchObject([{ status: 200 }])
})

test('records a closed port, an invalid URL and a URL of another scheme', async () => {
  const { sender } = sending()
  const free = net.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => free.once('listening', resolve))
  const { port } = free.address() as net.AddressInfo
  await new Promise((resolve) => free.close(resolve))
  const payload = callback.payment()
  expect(await sender.send(outgoing(`http://127.0.0.1:${port}/`, payload))).toMatchObject([
    { sent: false, intact: false, error: 'ECONNREFUSED' },
  ])
  for (const url of ['nonsense', 'ftp://127.0.0.1/'])
    expect(await sender.send(outgoing(url, payload))).toMatchObject([
      { sent: false, intact: false, error: 'the callback URL is not an http or https URL' },
    ])
})

test('records a URL with invalid credentials without them', async () => {
  const { url } = await serving()
  const { sender } = sending()
  const broken = url.replace('http://', 'http://%E0%A4:passphrase@')
  expect(await sender.send(outgoing(broken, callback.payment()))).toMatchObject([
    { url, sent: false, intact: false, error: 'the callback URL cannot be posted to' },
  ])
})

test('records a payload that is not JSON', async () => {
  const { url, seen } = await serving()
  const { sender } = sending()
  expect(await sender.send(outgoing(url, { amount: 10n }))).toMatchObject([
    { sent: false, intact: false, error: 'the payload cannot be written as JSON' },
  ])
  expect(seen).toHaveLength(0)
})

test('neither keys nor the credentials of a URL are in a record', async () => {
  const { url } = await serving()
  const { sender, deliveries } = sending({ faults: { oldKey: 0.5, tamperedByte: 0.5 } })
  const secretUrl = url.replace('http://', 'http://me:passphrase@')
  for (let nth = 0; nth < 20; nth += 1) await sender.send(outgoing(secretUrl, callback.payment()))
  await sender.send(outgoing('http://me:passphrase@127.0.0.1:1/', callback.payment()))
  const shown = inspect(deliveries, { depth: null })
  for (const secret of ['passphrase', AUTH_KEY, SIGNING_SECRET]) expect(shown).not.toContain(secret)
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
