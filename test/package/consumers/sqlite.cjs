// The same from CommonJS.
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { createReceiver } = require('messaging-webhooks')
const { sqliteStore } = require('messaging-webhooks/sqlite')

const folder = mkdtempSync(join(tmpdir(), 'consumer-'))
const store = sqliteStore(join(folder, 'inbox.db'))
const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' }, store, logger: false })
const { durable, name } = store.capabilities
receiver
  .start()
  .then(
    () => 'started',
    (error) => error.code,
  )
  .then(async (started) => {
    console.log(name, durable, started)
    await receiver.close()
    rmSync(folder, { recursive: true })
  })
