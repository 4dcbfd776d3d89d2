/**
 * What `npm start` shows: an Express app, the emulated service, fifty messages, and the events that come of them.
 * `npm start -- --keep` leaves both running afterwards, with the inspector on what came.
 */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { CALLBACK_KINDS, createReceiver, PROBLEMS } from 'messaging-webhooks'
import { inspector } from 'messaging-webhooks/inspector'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { z } from 'zod'
import { send, sendings } from './start/campaign.ts'
import { playScenes } from './start/play.ts'
import { createScreen } from './start/screen.ts'
import { credentials, playService } from './start/service.ts'

const screen = createScreen()
const file = join(mkdtempSync(join(tmpdir(), 'messaging-webhooks-')), 'inbox.db')
const receiver = createReceiver({
  credentials,
  networks: { 'carrier-a': 'carrierA', 'carrier-b': 'carrierB' },
  store: sqliteStore(file),
  schemas: {
    received: z.object({ from: z.string(), text: z.string() }),
    payment: z.object({ id: z.string(), amount: z.number(), currency: z.string() }),
    subscription: z.object({ phone: z.string(), keyword: z.string() }),
  },
  retry: { initialDelayMs: 250 },
  ordering: { gapTimeoutMs: 10_000 }, // so that nothing is late because this machine is busy
  logger: false, // onError receives the same, and the screen shows it
})

/** Whom each message was for: an app keeps what the answer to a send says, for an SMS report names no recipient. */
const recipients = new Map<string, string>()
/** A report can overtake the answer to its send. */
let resolveAllSent = (): void => {}
const allSent = new Promise<void>((resolve) => (resolveAllSent = resolve))
async function whom(messageId: string): Promise<string> {
  await allSent
  return recipients.get(messageId) ?? messageId
}

receiver.on(['message.queued', 'message.sent', 'message.delivered', 'message.read'], async (event) => {
  screen.handled(event.type, await whom(event.messageId), event.carrier ?? event.channel)
})
receiver.on('message.failed', async ({ type, messageId, failure: { kind, resend, reason } }) => {
  screen.handled(type, await whom(messageId), `${kind}, ${resend ? 'send it again' : 'no resend'}`, reason)
})
receiver.on('late', async ({ type, report: late }) => {
  screen.handled(type, await whom(late.messageId), `${late.type}, older than what you have`)
})
receiver.on('received', ({ type, data }) => screen.handled(type, data.from, data.text))
receiver.on('payment', ({ type, data }, { attempt }) => {
  if (attempt === 1) throw new Error('The ledger is busy.')
  screen.handled(type, data.id, `${data.amount} ${data.currency}, at attempt ${attempt}`)
})
receiver.on('subscription.*', ({ type, data }) => screen.handled(type, data.phone, data.keyword))
receiver.on('unrecognized', ({ type, problem }) => screen.handled(type, '', PROBLEMS[problem][0]))

let dispatched = 0
let retried = 0
receiver.onAny(() => void (dispatched += 1))
receiver.onError(({ code, message, cause }) => {
  if (code === 'handler_failed') retried += 1
  // The address at its end is for a log.
  const said = message.replace(/ See \S+$/, '')
  screen.failed(code, cause instanceof Error ? `${cause.message} It will be tried again.` : said)
})

await receiver.start()
const app = express()
for (const kind of CALLBACK_KINDS) app.use(`/${kind}`, receiver.middleware(kind))
const server = app.listen(0, '127.0.0.1')
server.keepAliveTimeout = 75_000
await once(server, 'listening')
const address = server.address()
if (typeof address !== 'object' || address === null) throw new Error('The server is not listening.')
const host = `127.0.0.1:${address.port}`
const appUrl = `http://${host}`
// Only this machine comes here. Your app asks who is signed in, and by which right.
app.use(
  '/inspector',
  inspector(receiver, { authorize: ({ headers }) => headers.get('host') === host && ['write', 'reveal'] }),
)

const emulator = playService(appUrl)
const service = await emulator.listen()
screen.title(appUrl, service.url)

screen.scene('You send 50 messages')
let messages = 0
for (const sending of sendings) {
  const answer = await send(sending, service)
  messages += answer.recipients.length
  for (const { messageId, to } of answer.recipients) recipients.set(messageId, to)
  screen.sent({ status: answer.status, what: sending.what, statuses: answer.statuses })
}

screen.scene('Their events arrive')
resolveAllSent()
await emulator.idle({ deadlineMs: 60_000 })
await receiver.drain({ deadlineMs: 60_000 })

const faulty = await playScenes({ receiver, screen, emulator, appUrl })
const posted = [emulator, ...faulty].map((each) => each.report().callbacks.sent)
const { accepted, duplicates, late, refused } = await receiver.stats()
screen.summary([
  ['messages', messages, 'sent through the emulated service'],
  ['callbacks', posted.reduce((sum, count) => sum + count, 0), 'posted by it'],
  ['accepted', accepted, 'of these; answered 204'],
  ['duplicates', duplicates, 'of these; nothing ran twice'],
  ['late', late, 'of these; older than a report already dispatched'],
  ['refused', refused, 'answered 401'],
  ['dispatched', dispatched, 'events to handlers, each once'],
  ['retried', retried, 'after a handler failed'],
])
if (process.argv.includes('--keep')) {
  screen.note(`The app and the service run until Ctrl+C. The inspector:\n  ${appUrl}/inspector/`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
} else {
  screen.note(
    `The accepted events are kept. To inspect them:\n  npx node dist/cli/main.js inspect --store ${file}\n` +
      'To browse them while the app runs:\n  npm start -- --keep',
  )
}

for (const each of [emulator, ...faulty]) await each.close()
server.close()
await receiver.close()
