// The entry of the SQLite store: importing it works on every Node, opening it needs `node:sqlite`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'

const folder = mkdtempSync(join(tmpdir(), 'consumer-'))
const store = sqliteStore(join(folder, 'inbox.db'))
const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' }, store, logger: false })
const started = await receiver.start().then(
  () => 'started',
  (error) => error.code,
)
const { durable, name } = store.capabilities
console.log(name, durable, started)
await receiver.close()
rmSync(folder, { recursive: true })
