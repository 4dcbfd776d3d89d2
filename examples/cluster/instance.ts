/** One of the instances: an app like any other. That there are more of it, and that one will be killed, it does not know. */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'messaging-webhooks'
import { isEngine, storeOn } from './stores.ts'

const { ENGINE, URL: url = '', NAME = '', FOLDER = '', PLACE = '', SIGNING_SECRET } = process.env
if (!isEngine(ENGINE)) throw new Error('Start it by start.ts, which says which engine it uses.')

const receiver = createReceiver({
  credentials: { signingSecret: SIGNING_SECRET },
  store: storeOn(ENGINE, url, NAME),
  spool: join(FOLDER, `spool-${PLACE}`), // on this machine's disk, for when the store is unavailable
  ordering: { gapTimeoutMs: 10_000 }, // the service holds some reports back, and this machine may be busy
  handlerTimeoutMs: 1_000, // events of a killed instance are due again 12 s after their dispatch
})
receiver.on('message.*', async ({ messageId, type }) => {
  appendFileSync(join(FOLDER, 'handled.txt'), `${PLACE} ${messageId} ${type}\n`)
  await sleep(5) // its work
})
receiver.on('late', ({ report: { messageId, type } }) => {
  appendFileSync(join(FOLDER, 'handled.txt'), `${PLACE} ${messageId} ${type} late\n`)
})

const server = createServer(receiver.middleware('status'))
server.keepAliveTimeout = 75_000
receiver.closeOnSignal(['SIGTERM', 'SIGINT'], server)
process.on('disconnect', () => process.exit()) // it ends with start.ts, however that ends
await once(server.listen(0, '127.0.0.1'), 'listening')
await receiver.start()
// An app would go on: callbacks wait in the spool. This example has nothing to show without its store.
if ((await receiver.health()).working === false) process.exit(1)
process.send?.((server.address() as AddressInfo).port)
