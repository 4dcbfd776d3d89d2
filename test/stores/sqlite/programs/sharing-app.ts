/**
 * One of the receivers on one file. It tells its parent of every event that a handler gets; one of a message whose id
 * begins with `hang` stays in its hands the first time, and one that begins with `wait` until the parent says so.
 */
import http from 'node:http'
import { createReceiver } from '../../../../src/index.ts'
import { sqliteStore } from '../../../../src/stores/sqlite/store.ts'
import { LONG_LEASE_MS } from '../holder-processes.ts'
import type { AppMessage } from '../sharing-app.ts'

const [path = '', authKey = '', signingSecret = '', busyTimeoutMs = ''] = process.argv.slice(2)
const tell = (message: AppMessage): void => void process.send?.(message)
// The parent's end of this channel also keeps the process alive.
const told = new Promise((resolve) => process.on('message', resolve))
const receiver = createReceiver({
  credentials: { authKey, signingSecret },
  store: sqliteStore({ path, busyTimeoutMs: Number(busyTimeoutMs) }),
  storeTimeoutMs: 20_000,
  handlerTimeoutMs: LONG_LEASE_MS,
  concurrency: 4,
  logger: false,
})
receiver.on('message.*', async ({ messageId }, { attempt }) => {
  tell({ handled: messageId, attempt })
  if (attempt === 1 && messageId.startsWith('hang')) await new Promise(() => {})
  if (messageId.startsWith('wait')) await told
})
const server = http.createServer(receiver.middleware('status'))
// With its spool it starts without its store, too.
receiver.onError(({ code, cause }) => {
  if (code === 'store_outage')
    tell({ refused: cause instanceof Error && 'code' in cause ? String(cause.code) : 'not our error' })
})
await receiver.start()
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  tell({ port: typeof address === 'object' ? (address?.port ?? 0) : 0 })
})
