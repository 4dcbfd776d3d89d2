/** An app whose system calls are traced: a receiver on an SQLite file, or on a spool while the store is unavailable. */
import http from 'node:http'
import { createReceiver } from '../../../src/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/store.ts'
import { faultyStore } from '../../support/faulty-store.ts'

export interface SyncedPlan {
  readonly folder: string
  readonly authKey: string
  readonly synchronous: 'FULL' | 'OFF'
  /** The store is unavailable from the start; `'back'` makes it available. */
  readonly isUnavailable: boolean
}

// Written by the test that starts this program.
const { folder, authKey, synchronous, isUnavailable } = JSON.parse(process.argv[2] ?? '') as SyncedPlan
const store = faultyStore(sqliteStore({ path: `${folder}/inbox.db`, synchronous }))
if (isUnavailable) store.fault = 'will not open'
const receiver = createReceiver({ credentials: { authKey }, store, logger: false })
receiver.onAny(() => {})
const server = http.createServer(receiver.middleware('status'))
server.keepAliveTimeout = 60_000
await receiver.start().catch(() => {})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
process.on('message', (message) => {
  if (message === 'back') store.fault = 'none'
  else
    server.close(() => {
      void receiver.close().then(() => process.exit())
    })
})
process.on('disconnect', () => process.exit())
