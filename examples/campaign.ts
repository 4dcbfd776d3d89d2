/**
 * A campaign of 2,000 messages, against the emulator with faults on both ways: batches, a progress bar, Ctrl+C between batches, and at the
 * end an account in which each number is once, whatever became of its answer and its report.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import cliProgress from 'cli-progress'
import { createReceiver } from 'messaging-webhooks'
import { createClient, sender } from 'messaging-webhooks/client'
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
receiver.on('message.overdue', ({ sent }) => void overdue.push(sent.to ?? ''))
/** Reports of messages whose answer was lost: only the unknown numbers can have got them. */
const strangers = new Set<string>()
receiver.on('message.*', ({ messageId, sent }) => {
  if (sent === undefined) strangers.add(messageId)
})
await receiver.start()

const client = createClient({
  baseUrl: `${url}/api/v1/messaging`,
  project: 'My Shop',
  apiKey: 'api-key-of-the-example',
})
// Each batch is written down before its request, so that none is forgotten, not even by a crash.
const { sendAll } = sender(receiver, client)
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
const within = 3_000
const { counts, stoppedBy } = await sendAll(
  { to, message: 'Everything is half the price until Friday.', campaign: 'Spring' },
  {
    within,
    batch: 50,
    concurrency: 4,
    signal: stopping.signal,
    onProgress: ({ total, unsent }) => bar?.update(total - unsent),
  },
)
bar?.stop()
if (stoppedBy !== undefined) console.log(`Stopped: ${stoppedBy.code}`)
console.log(`${counts.total} numbers, of which ${counts.unsent} were not tried`)

await emulator.idle({ deadlineMs: 60_000 })
await setTimeout(within)
await receiver.drain({ deadlineMs: 60_000 })

const account = await receiver.account({ from, to: new Date() })
console.log(`${account.sent} sent
  ${account.delivered} delivered`)
for (const [cause, count] of Object.entries(account.failed)) console.log(`  ${count} failed: ${cause}`)
for (const [cause, count] of Object.entries(account.refused)) console.log(`  ${count} refused: ${cause}`)
console.log(`  ${account.overdue} overdue: a report was lost on its way
  ${account.unknown} unknown: no answer said what became of them; reports of ${strangers.size} came`)
console.log(`The first that are overdue: ${overdue.slice(0, 5).join(', ')}`)

await emulator.close()
server.close()
await receiver.close()
