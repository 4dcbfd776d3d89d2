// A project that runs Jest without a flag: its module system requires CommonJS.
const { createReceiver, OptionsError, RetryLater } = require('messaging-webhooks')
const { createClient } = require('messaging-webhooks/client')
const { createEmulator } = require('messaging-webhooks/emulator')
const { receiverHandler } = require('messaging-webhooks/fetch')
const { inspector } = require('messaging-webhooks/inspector')
const { postgresStore } = require('messaging-webhooks/postgres')
const { sqliteStore } = require('messaging-webhooks/sqlite')
const { callback, deliver, signCallback, waitFor } = require('messaging-webhooks/testing')
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

const signingSecret = 'secret-of-the-consumer'
const folder = mkdtempSync(join(tmpdir(), 'messaging-webhooks-jest-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(['memory', 'sqlite'])('a callback is delivered into the %s store and handled', async (name) => {
  const store = name === 'memory' ? undefined : sqliteStore(join(folder, 'inbox.db'))
  const receiver = createReceiver({ credentials: { signingSecret }, store, logger: false })
  const attempts = []
  receiver.on('message.failed', (event) => {
    attempts.push(event.failure.kind)
    if (attempts.length === 1) throw new RetryLater(1)
  })
  const body = callback.smsDelivery({ messageId: 'm-1', status: 'network_failure' })
  const { status } = await deliver(receiver.middleware('status'), body, { signingSecret })
  expect(status).toBe(204)
  const event = await waitFor(receiver, 'message.failed', 'm-1')
  expect(event.messageId).toBe('m-1')
  expect(attempts).toEqual(['transient', 'transient'])
  await receiver.close()
})

test('the Fetch handler, the client, the emulator and the inspector are there', async () => {
  const receiver = createReceiver({ credentials: { signingSecret }, logger: false })
  const body = JSON.stringify(callback.smsDelivery())
  const headers = { 'x-service-signature': signCallback(body, signingSecret) }
  const handle = receiverHandler(receiver, 'status')
  expect((await handle(new Request('http://localhost/', { method: 'POST', headers, body }))).status).toBe(204)
  await receiver.close()
  expect([createClient, createEmulator, inspector].map((each) => typeof each)).toEqual(Array(3).fill('function'))
})

test('errors are of the class that the package exports, and a missing package is named', async () => {
  expect(() => createReceiver({ credentials: { signingSecret: 5 } })).toThrow(OptionsError)
  expect(() => sqliteStore()).toThrow(OptionsError)
  const store = postgresStore({ connectionString: 'postgres://127.0.0.1:1/none' })
  const receiver = createReceiver({ credentials: { signingSecret }, store, spool: false, logger: false })
  await expect(receiver.start()).rejects.toMatchObject({ code: 'peer_missing' })
  await receiver.close()
})
