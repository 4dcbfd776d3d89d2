/**
 * A campaign of 2,000 messages, against the emulator with faults on both ways: batches, a progress bar, Ctrl+C between batches, and an
 * account of every number at the end.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import cliProgress from 'cli-progress'
import { createReceiver } from 'messaging-webhooks'
import { createClient } from 'messaging-webhooks/client'
import { createEmulator } from 'messaging-webhooks/emulator'

const keys = { authKey: 'auth-key-of-the-example', signingSecret: 'signing-secret-of-the-example' }
const receiver = createReceiver({ credentials: keys, logger: false })
const server = createServer(receiver.middleware('status')).listen(0, '127.0.0.1')
server.keepAliveTimeout = 75_000
await once(server, 'listening')
const address = server.address()
const port = typeof address === 'object' ? address?.port : undefined

const status = `http://127.0.0.1:${port}/`
const emulator = createEmulator({
  projects: [{ name: 'My Shop', apiKey: 'api-key-of-the-example', ...keys, callbackUrls: { status } }],
  network: { delayMs: [50, 500] },
  faults: { duplicate: 0.05, reorder: 0.05, drop: 0.01, slowBody: 0.01 },
  sendFaults: { noAnswer: 0.05, badGateway: 0.03, lateAnswer: 0.1 },
  seed: 'campaign',
})
const { url } = await emulator.listen()

/** The newest report of each message. */
const reports = new Map<string, string>()
receiver.on('message.delivered', ({ messageId }) => void reports.set(messageId, 'delivered'))
receiver.on('message.failed', ({ messageId, failure }) => {
  reports.set(messageId, failure.resend ? 'failed, to be sent again' : 'failed for good')
})
await receiver.start()

const client = createClient({
  baseUrl: `${url}/api/v1/messaging`,
  project: 'My Shop',
  apiKey: 'api-key-of-the-example',
})
const to = Array.from({ length: 2_000 }, (_, index) => String(254_711_000_000 + index))
// One whose number the service does not take.
to[1_000] = '999400000012'

const stopping = new AbortController()
process.once('SIGINT', () => stopping.abort())
const bar = process.stdout.isTTY
  ? new cliProgress.SingleBar({ format: '{bar} {value} of {total}', gracefulExit: false })
  : undefined
bar?.start(to.length, 0)
const { sent, failed, counts, stoppedBy } = await client.sendAll(
  { to, message: 'Everything is half the price until Friday.', campaign: 'Spring' },
  {
    batch: 50,
    concurrency: 4,
    signal: stopping.signal,
    onProgress: ({ total, unsent }) => bar?.update(total - unsent),
  },
)
bar?.stop()
if (stoppedBy !== undefined) console.log(`Stopped: ${stoppedBy.code}`)

console.log(`${counts.total} numbers
  ${counts.accepted} accepted
  ${counts.refused} refused
  ${counts.failed} not sent
  ${counts.unknown} unknown: ${failed.length} of the requests had no answer that says
  ${counts.unsent} not tried`)

await emulator.idle({ deadlineMs: 60_000 })
await receiver.drain({ deadlineMs: 60_000 })

const ends = new Map<string, number>()
const messages = sent.flatMap((each) => each.messages)
for (const { messageId } of messages) {
  const end = reports.get(messageId) ?? 'without a report: the callback was lost on its way'
  ends.set(end, (ends.get(end) ?? 0) + 1)
}
console.log(`${messages.length} accepted messages`)
for (const [end, count] of [...ends].sort(([, a], [, b]) => b - a)) console.log(`  ${count} ${end}`)

// What the app sent without knowing it: reports of messages whose answer was lost.
const known = new Set(messages.map(({ messageId }) => messageId))
const others = [...reports.keys()].filter((messageId) => !known.has(messageId)).length
console.log(`${others} reports of other messages, which only the ${counts.unknown} unknown numbers can have got`)

await emulator.close()
server.close()
await receiver.close()
