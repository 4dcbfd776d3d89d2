// Opens an SQLite file, prints the result, and closes it when its input ends.
import { once } from 'node:events'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'

const store = sqliteStore({ path: process.argv[2], busyTimeoutMs: 1_000 })
const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' }, store, logger: false })
try {
  await receiver.start()
  console.log('opened')
  await once(process.stdin.resume(), 'end')
} catch (error) {
  console.log(error.code)
}
await receiver.close()
