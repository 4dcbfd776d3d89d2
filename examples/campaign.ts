/**
 * A campaign of 2,000 messages, against the emulator with faults on both ways: batches, a progress bar, Ctrl+C between batches, and at the
 * end an account in which each number is once, whatever became of its answer and its report.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import cliProgress from 'cli-progress'
import { createReceiver } from 'messaging-webhooks'
import { createClient } from 'messaging-webhooks/client'
import { createEmulator } from 'messaging-webhooks/emulator'

const keys = { authKey: 'auth-key-of-the-example', signingSecret: 'signing-secret-of-the-example' }
// A report that overtakes the answer to its send waits for it.
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

const overdue: string[] = []
receiver.on('send.overdue', ({ sent }) => void overdue.push(sent.to ?? ''))
await receiver.start()

// With the receiver, each number is written down before its request, so that none is forgotten or sent to twice, not even by a crash.
const client = createClient({
  baseUrl: `${url}/api/v1/messaging`,
  project: 'My Shop',
  apiKey: 'api-key-of-the-example',
  receiver,
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
const from = new Date()
/** How long the end of a message may take. Of SMS it is a day in earnest. */
const withinMs = 3_000
const message = 'Everything is half the price until Friday.'
const sending = client.sendAll(
  { to, message, campaign: 'Spring', reference: 'Spring', withinMs },
  { batch: 50, signal: stopping.signal },
)
for await (const { outcome } of sending) if (outcome !== 'unsent') bar?.increment()
bar?.stop()
console.log(sending.stoppedBy?.code ?? 'All were tried', sending.totals)

await emulator.idle({ deadlineMs: 60_000 })
await setTimeout(withinMs)
await receiver.drain({ deadlineMs: 60_000 })

console.log('What became of them:', await receiver.sends.account({ from, to: new Date() }))
console.log(`The first that are overdue: ${overdue.slice(0, 5).join(', ')}`)

await emulator.close()
server.close()
await receiver.close()
