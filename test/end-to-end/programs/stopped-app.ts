/** An app that is told to end while it works: `closeOnSignal` on one server; its handlers write down what they do. */
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { createReceiver, memoryStore, type CloseOnSignalOptions } from '../../../src/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/store.ts'

/** What the test asks of the app. */
export interface StoppedAppSettings {
  readonly folder: string
  readonly store: 'sqlite' | 'memory'
  readonly authKey: string
  readonly handlerMs: number
  readonly options: Omit<CloseOnSignalOptions, 'afterwards'>
  /** Holds the process, as an app's database pool does. */
  readonly heldOpen?: boolean
  /** The log of an app whose losses are the test is nobody's business. */
  readonly silent?: boolean
  /** What the app has set `process.exitCode` to. */
  readonly exitCode?: number
}

// The test writes it, and the type is the one that it writes.
const settings = JSON.parse(process.argv[2] ?? '') as StoppedAppSettings
const { folder, handlerMs } = settings
const log = openSync(`${folder}/handlers.log`, 'a')
const receiver = createReceiver({
  credentials: { authKey: settings.authKey },
  ...(settings.silent === true ? { logger: false } : {}),
  store: settings.store === 'sqlite' ? sqliteStore(`${folder}/inbox.db`) : memoryStore(),
})
receiver.onAny(async (event) => {
  const { messageId } = 'messageId' in event ? event : { messageId: event.id }
  writeSync(log, `begin ${messageId}\n`)
  await new Promise((resolve) => setTimeout(resolve, handlerMs))
  writeSync(log, `end ${messageId}\n`)
})
const server = http.createServer((request, response) => {
  if (request.url === '/health') response.end('well')
  else status(request, response)
})
const status = receiver.middleware('status')
server.keepAliveTimeout = 75_000
if (settings.exitCode !== undefined) process.exitCode = settings.exitCode
if (settings.heldOpen === true) setInterval(() => {}, 60_000)
receiver.closeOnSignal(['SIGTERM', 'SIGINT'], server, {
  ...settings.options,
  afterwards: () => void writeSync(log, 'closed\n'),
})
await receiver.start()
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
  process.disconnect()
})
