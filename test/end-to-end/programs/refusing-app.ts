/** An app on an SQLite file that starts with a given pair and reports the contents of its quarantine to the test. */
import { appendFileSync } from 'node:fs'
import http from 'node:http'
import { createReceiver } from '../../../src/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/store.ts'

const [folder = '', authKey = '', signingSecret = '', maxBytes = ''] = process.argv.slice(2)
const receiver = createReceiver({
  credentials: { authKey, signingSecret },
  store: sqliteStore(`${folder}/inbox.db`),
  quarantine: { maxBytes: Number(maxBytes) },
  logger: false,
})
receiver.onAny((event) => {
  const messageId = 'messageId' in event ? event.messageId : ''
  appendFileSync(`${folder}/handlers.log`, `${messageId}\t${event.type}\n`)
})
const codes = new Map<string, number>()
receiver.onError(({ code }) => void codes.set(code, (codes.get(code) ?? 0) + 1))
const server = http.createServer(receiver.middleware('status'))
await receiver.start()

process.on('message', (wish) => {
  void answer(wish).then((answered) => process.send?.(answered))
})

async function answer(wish: unknown): Promise<object> {
  if (wish === 'reverify') {
    const reverified = await receiver.quarantine.reverify()
    return { ...reverified, drained: await receiver.drain({ deadlineMs: 60_000 }), late: (await receiver.stats()).late }
  }
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  await receiver.quarantine.list({ limit: 1 })
  return { ...receiver.quarantine.counts(), memory: heapUsed + external, codes: Object.fromEntries(codes) }
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
