/** What the emulator posts, with which proofs, and how it records failures. */
import https from 'node:https'
import { inspect } from 'node:util'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ProofPolicy } from 'messaging-webhooks'
import type { EmulatorOptions, FaultName } from 'messaging-webhooks/emulator'
import { planFaults } from '../../src/emulator/faults.ts'
import { makeCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { listen, receiving } from '../support/receiving.ts'
import { titleWith } from '../support/skipping.ts'
import { AUTH_KEY, collecting, emulating, sendFrom } from './emulating.ts'
import { DEADLINE_MS, NOW_MS, sendingTo, serving, playing } from './playing.ts'

vi.setConfig({ testTimeout: 2 * DEADLINE_MS })

test('a payload’s own authKey is replaced by the project’s', async () => {
  const { url, seen } = await serving()
  const emulator = await sendingTo(url)
  await emulator.callback('status', { messageId: 'm', authKey: 'another' })
  expect(JSON.parse(Buffer.concat(seen[0]?.chunks ?? []).toString())).toEqual({ messageId: 'm', authKey: AUTH_KEY })
})

test.each([200, 307, 401, 500])('%d is recorded: not followed, not tried again', async (status) => {
  const elsewhere = await serving()
  const { url, seen } = await serving((request, response) => {
    request.resume()
    response.writeHead(status, { location: elsewhere.url }).end('an answer')
  })
  const emulator = await sendingTo(url)
  expect(await emulator.callback('payment', callback.payment())).toMatchObject([
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
  const emulator = await sendingTo(silent.url, { callbackTimeoutMs: 200 })
  const [delivery] = await emulator.callback('status', callback.smsDelivery())
  expect(delivery).toMatchObject({ sent: true, intact: true, error: 'no answer within 200 ms' })
  expect(delivery).not.toHaveProperty('status')
  emulator.configure({ callbackUrls: { status: endless.url } })
  expect(await emulator.callback('status', callback.smsDelivery())).toMatchObject([{ status: 200 }])
})

test.each<readonly [what: string, credentials: string, payload: object, error: string]>([
  ['a closed port', 'me:passphrase@', {}, 'ECONNREFUSED'],
  ['a URL with invalid credentials', '%E0%A4:passphrase@', {}, 'the callback URL cannot be posted to'],
  ['a payload that is not JSON', '', { amount: 10n }, 'the payload cannot be written as JSON'],
])('records %s, without credentials', async (_, credentials, payload, error) => {
  const emulator = await sendingTo(`http://${credentials}127.0.0.1:${await freePort()}/`)
  const sent = await emulator.callback('status', { ...payload })
  expect(sent).toMatchObject([{ sent: false, intact: false, error }])
  expect(inspect([sent, emulator.report()], { depth: null })).not.toContain('passphrase')
})

test('close cuts running requests, and drops queued ones', async () => {
  const { url, seen } = await serving((request) => void request.resume())
  const emulator = await sendingTo(url, { faults: { reorder: 0.5 } })
  const sent = Promise.all(
    Array.from({ length: 20 }, (_, nth) =>
      emulator.callback('status', callback.smsDelivery({ messageId: `m-${nth}` })),
    ),
  )
  await expect.poll(() => seen.length, { timeout: DEADLINE_MS }).toBeGreaterThan(0)
  await emulator.close()
  const deliveries = (await sent).flat()
  expect(deliveries.map(({ error }) => error)).toEqual(deliveries.map(() => 'the sender was closed'))
  expect(deliveries.some((delivery) => !delivery.sent)).toBe(true)
})

test('a reordered callback arrives behind the next one of its message, and no other', async () => {
  const faults = { reorder: 0.5 }
  const heldWith = (seed: number): readonly boolean[] =>
    [1, 2, 3, 4].map(
      (nth) =>
        planFaults(faults, seed, { key: `made ${nth}`, kind: 'status', proof: 'both' })[0]?.faults.has('reorder') ===
        true,
    )
  const seed = Array.from({ length: 200 }, (_, at) => at).find((at) => heldWith(at).join() === 'true,true,false,false')
  const { url, seen } = await serving()
  const emulator = await sendingTo(url, { faults, seed })
  const post = (messageId: string, status: string) =>
    emulator.callback('status', callback.smsDelivery({ messageId, status }))
  const held = Promise.all([post('m', 'accepted'), post('other', 'accepted')])
  await post('another', 'success')
  await post('m', 'success')
  await held
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
  const emulator = await sendingTo(url)
  const sent = await Promise.all(Array.from({ length: 600 }, () => emulator.callback('payment', callback.payment())))
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
    const [stranger, trusted] = [await sendingTo(url), await sendingTo(url, { ca: certificate?.cert })]
    expect(await stranger.callback('status', callback.smsDelivery())).toMatchObject([
      { sent: false, intact: false, error: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    ])
    expect(await trusted.callback('status', callback.smsDelivery())).toMatchObject([
      { url, sent: true, intact: true, status: 204 },
    ])
    expect(await receiver.stats()).toMatchObject({ accepted: 1, refused: 0 })
  },
)

/** Sends a report by SMS and one by chat-app; resolves with the proofs of those that the receiver accepted. */
async function posted(options: Omit<EmulatorOptions, 'projects'>, policy: ProofPolicy = 'either') {
  const { emulator, receiver, dispatched } = await playing(options, { proof: policy })
  // Time stands still, so no report may wait for an earlier one.
  const chat = callback.chatApp({ statuses: { status: 'sent' } })
  for (const payload of [callback.smsDelivery(), chat]) await emulator.callback('status', payload)
  expect(await receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
  return { proofs: dispatched.map(({ proof }) => proof), ...emulator.report() }
}

test('every callback carries both by default, and only the one that the option names', async () => {
  expect((await posted({}, 'both')).proofs).toEqual(['both', 'both'])
  for (const proof of ['authKey', 'signature'] as const)
    expect((await posted({ proof })).proofs).toEqual([proof, proof])
})

test('each channel carries the proofs that the option names for it, whatever the service calls it', async () => {
  const { collected, callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating(
    { callbackUrls },
    {
      channels: { 'chat-app': 'telegraph' },
      proof: { 'chat-app': 'signature', premium: 'authKey', 'premium-subscription': 'signature' },
    },
  )
  const sent = { to: '999400000011', message: 'Hi', amount: 1 }
  for (const fields of [
    { to: '999100000000' },
    { to: '999300000004', channel: 'telegraph' },
    { to: '999100000000', channel: 'premium' },
    { to: '999100000000', channel: 'premium-subscription' },
  ]) {
    expect((await sendFrom(endpoint, { ...sent, ...fields })).status).toBe(200)
    await idle()
  }
  for (const name of ['received.sms', 'received.chat-app', 'payment', 'subscription.activate'] as const)
    await emulator.trigger(name)
  const proofs = collected.map(({ body, signature }) =>
    [...('authKey' in body ? ['authKey'] : []), ...(signature === undefined ? [] : ['signature'])].join(),
  )
  const [both, signature] = ['authKey,signature', 'signature']
  expect(proofs).toEqual([both, signature, 'authKey', signature, both, signature, both, signature])
})

test.each<readonly [proof: 'authKey' | 'signature', fault: FaultName, accepts: boolean]>([
  ['authKey', 'staleSignature', true],
  ['authKey', 'tamperedByte', true],
  ['authKey', 'noSignature', true],
  ['authKey', 'noAuthKey', true],
  ['signature', 'noSignature', true],
  ['signature', 'noAuthKey', true],
  ['authKey', 'oldKey', false],
  ['signature', 'oldKey', false],
  ['signature', 'tamperedByte', false],
])('with %s as the only proof, under %s a callback is accepted: %j', async (proof, fault, accepts) => {
  const { proofs, faults, callbacks } = await posted({ proof, faults: { [fault]: 1 } })
  if (accepts) {
    // The fault does not happen: it would change nothing, or take the only proof.
    expect(proofs).toEqual([proof, proof])
    expect({ faults, callbacks }).toMatchObject({ faults: {}, callbacks: { intact: 2, accepted: 2 } })
  } else {
    expect(proofs).toEqual([])
    expect(callbacks).toMatchObject({ sent: 2, intact: 0, refused: 2, rightlyRefused: 2, lost: 0 })
  }
})
