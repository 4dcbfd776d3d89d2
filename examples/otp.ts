/**
 * A one-time password from end to end: the app makes the code, keeps and checks it; the service brings it to the telephone, and reports
 * whether it did. Against the emulator, which loses some answers.
 */
import { createHash, randomInt, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createReceiver } from 'messaging-webhooks'
import { createClient, SendError } from 'messaging-webhooks/client'
import { createEmulator } from 'messaging-webhooks/emulator'

const keys = { authKey: 'auth-key-of-the-example', signingSecret: 'signing-secret-of-the-example' }
// A report that overtakes the answer to its send waits for it, so that each says to whom it was sent.
const receiver = createReceiver({ credentials: keys, logger: false })
const server = createServer(receiver.middleware('status')).listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
const port = typeof address === 'object' ? address?.port : undefined

const status = `http://127.0.0.1:${port}/`
const emulator = createEmulator({
  projects: [{ name: 'My Bank', apiKey: 'api-key-of-the-example', ...keys, callbackUrls: { status } }],
  network: { delayMs: [20, 50], retryDelayMs: 20 },
  faults: { duplicate: 0.5 },
  sendFaults: { noAnswer: 0.35 },
  seed: 'otp',
})
const { url } = await emulator.listen()
const client = createClient({
  baseUrl: `${url}/api/v1/messaging`,
  project: 'My Bank',
  apiKey: 'api-key-of-the-example',
  receiver,
})

// The app's part: six digits for five minutes and five tries, as a digest. Contract: the service makes and checks no code.
const LIFE_MS = 300_000
const MAX_TRIES = 5
interface Kept {
  readonly digest: Buffer
  readonly untilMs: number
  tries: number
}
const kept = new Map<string, Kept>()

function digestOf(to: string, code: string): Buffer {
  return createHash('sha256').update(`${to} ${code}`).digest()
}

function isRight(to: string, code: string): boolean {
  const entry = kept.get(to)
  if (entry === undefined || Date.now() > entry.untilMs || entry.tries >= MAX_TRIES) return false
  entry.tries += 1
  if (!timingSafeEqual(entry.digest, digestOf(to, code))) return false
  // It holds once.
  return kept.delete(to)
}

/** What a telephone shows: the last text that was sent to it. */
const telephone = new Map<string, string>()

/** Sends another code if the outcome is unknown. That is harmless, because it replaces the first. */
async function sendCode(to: string): Promise<void> {
  for (let left = 3; ; left -= 1) {
    const code = String(randomInt(1_000_000)).padStart(6, '0')
    kept.set(to, { digest: digestOf(to, code), untilMs: Date.now() + LIFE_MS, tries: 0 })
    telephone.set(to, code)
    try {
      await client.otp({ to, message: `${code} is your code. It holds for five minutes.` })
      return
    } catch (error) {
      if (!(error instanceof SendError && error.mayBeSent && left > 1)) throw error
      console.log(`${to}: ${error.code}, so another code is sent`)
    }
  }
}

/** Waiters for the report of a code, by number. A report without a waiter belongs to a code whose answer was lost. */
const outcomes = new Map<string | undefined, (outcome: string) => void>()
receiver.on('message.delivered', ({ sent }) => outcomes.get(sent?.to)?.('delivered'))
receiver.on('message.failed', ({ sent, status }) => outcomes.get(sent?.to)?.(`failed: ${status ?? ''}`))

await receiver.start()
// Delivered; delivered after two failures of the carrier; never deliverable; no number at all.
for (const to of ['999100000000', '999110000002', '999100000021', '999400000012']) {
  const reported = new Promise<string>((resolve) => outcomes.set(to, resolve))
  const outcome = await sendCode(to).then(
    () => reported,
    (error: unknown) => `${error instanceof SendError ? error.code : 'not sent'}; ask for another number`,
  )
  console.log(`${to}: ${outcome}`)
  if (outcome !== 'delivered') continue
  const code = telephone.get(to) ?? ''
  const wrong = code === '000000' ? '000001' : '000000'
  console.log(`  ${[wrong, code, code].map((each) => (isRight(to, each) ? 'let in' : 'refused')).join(', ')}`)
}

await emulator.close()
server.close()
await receiver.close()
