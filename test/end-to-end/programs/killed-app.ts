/**
 * An app that is killed while it works: a receiver on an SQLite file, whose handlers write down what they do, each line in
 * one write to a file of their own, so that a kill cannot take a line back.
 */
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { createReceiver } from '../../../src/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/store.ts'

const [folder = '', authKey = '', signingSecret = ''] = process.argv.slice(2)
const log = openSync(`${folder}/handlers.log`, 'a')
const receiver = createReceiver({
  credentials: { authKey, signingSecret },
  store: sqliteStore(`${folder}/inbox.db`),
  // What a killed process had in its hands comes back when its lease has run out, which these bound.
  handlerTimeoutMs: 200,
  logger: false,
})
receiver.on(['message.*', 'late'], async (event) => {
  const { id } = event
  const { messageId, status } = event.type === 'late' ? event.late : event
  const line = `${id} ${messageId} ${event.type === 'late' ? 'late' : status}`
  writeSync(log, `begin ${line}\n`)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 4))
  writeSync(log, `end ${line}\n`)
})
const server = http.createServer(receiver.middleware('status'))
await receiver.start()
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
process.on('message', () => {
  void receiver.drain({ deadlineMs: 60_000 }).then(async (drained) => {
    process.send?.({ drained, ...(await receiver.stats()) })
  })
})
