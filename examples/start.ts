/** What `npm start` shows: an Express app, a stream of callbacks over HTTP, and what becomes of each. */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { CALLBACK_KINDS, createReceiver, PROBLEMS } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { z } from 'zod'
import { playService } from './start/service.ts'
import { createScreen } from './start/screen.ts'

const screen = createScreen()
const credentials = { authKey: 'auth-key-of-the-example', signingSecret: 'signing-secret-of-the-example' }
const file = join(mkdtempSync(join(tmpdir(), 'messaging-webhooks-')), 'inbox.db')
const receiver = createReceiver({
  credentials,
  store: sqliteStore(file),
  schemas: {
    received: z.object({ from: z.string(), text: z.string() }),
    payment: z.object({ id: z.string(), amount: z.number(), currency: z.string() }),
    subscription: z.object({ phone: z.string(), keyword: z.string() }),
  },
  retry: { initialDelayMs: 250 },
  logger: false, // onError hears the same, and the screen shows it
})

receiver.on(['message.sent', 'message.delivered', 'message.read'], (event) => {
  screen.handled(event.type, event.messageId, event.carrier ?? event.channel)
})
receiver.on('message.failed', ({ type, messageId, failure: { kind, resend, reason } }) => {
  screen.handled(type, messageId, `${kind}, ${resend ? 'send it again' : 'no resend'}`, reason)
})
receiver.on('late', ({ type, late }) => screen.handled(type, late.messageId, `${late.type}, older than what you have`))
receiver.on('received', ({ type, data }) => screen.handled(type, data.from, data.text))
receiver.on('payment', ({ type, data }, { attempt }) => {
  if (attempt === 1) throw new Error('The ledger is busy.')
  screen.handled(type, data.id, `${data.amount} ${data.currency}, at attempt ${attempt}`)
})
receiver.on('subscription.*', ({ type, data }) => screen.handled(type, data.phone, data.keyword))
receiver.on('unrecognized', ({ type, problem }) => screen.handled(type, '', PROBLEMS[problem]))

let handedOver = 0
let retried = 0
receiver.onAny(() => void (handedOver += 1))
receiver.onError(({ code, message, cause }) => {
  if (code === 'handler_failed') retried += 1
  screen.failed(code, cause instanceof Error ? `${cause.message} It will be tried again.` : message)
})

const app = express()
for (const kind of CALLBACK_KINDS) app.use(`/${kind}`, receiver.middleware(kind))
await receiver.start()
const server = app.listen(0, '127.0.0.1')
server.keepAliveTimeout = 75_000
await once(server, 'listening')

const sent = await playService({ server, receiver, screen, credentials })
const { taken, duplicates, late, refused } = await receiver.stats()
screen.summary([
  ['sent', sent, 'callbacks, over HTTP'],
  ['taken', taken, 'answered 204'],
  ['duplicates', duplicates, 'of these; nothing ran twice'],
  ['late', late, 'of these; older than a report that was handed over'],
  ['refused', refused, 'answered 401'],
  ['handed over', handedOver, 'events to handlers, each once'],
  ['retried', retried, 'a handler failed, and then did not'],
])
screen.note(`What was taken is kept. To look into it:\n  sqlite3 ${file}`)

server.close()
await receiver.close()
