/** An app that receives a signal while it works: `closeOnSignal` on one server; its handlers log what they do. */
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { createReceiver, memoryStore } from '../../../src/index.ts'
import type { CloseOnSignalOptions } from '../../../src/receiver/surface.ts'
import { sqliteStore } from '../../../src/stores/sqlite/store.ts'

/** Settings that the test passes to the app. */
export interface StoppedAppSettings {
  readonly folder: string
  readonly store: 'sqlite' | 'memory'
  readonly authKey: string
  readonly handlerMs: number
  readonly options: Omit<CloseOnSignalOptions, 'afterwards'>
  /** Keeps the process alive, as an app's database pool does. */
  readonly heldOpen?: boolean
  /** Turns the log off, for tests in which the app loses events on purpose. */
  readonly silent?: boolean
  /** Whether a second receiver, without work, closes on the same signals. */
  readonly hasIdleReceiver?: boolean
  /** The value that the app has set `process.exitCode` to. */
  readonly exitCode?: number
}

// The test writes this value with the same type.
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
if (settings.hasIdleReceiver === true)
  createReceiver({ credentials: { authKey: settings.authKey } }).closeOnSignal(['SIGTERM', 'SIGINT'])
await receiver.start()
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
  process.disconnect()
})
