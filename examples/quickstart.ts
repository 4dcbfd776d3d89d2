import express from 'express'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'

const { AUTH_KEY, SIGNING_SECRET, STORE = 'inbox.db', PORT = 3000 } = process.env
const receiver = createReceiver({
  credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
  networks: { 'carrier-a': 'carrierA', 'carrier-b': 'carrierB' }, // `network` in your callbacks: whose words it uses
  store: sqliteStore(STORE),
})

receiver.on('message.delivered', (event) => console.log(`${event.messageId} was delivered`))
receiver.on('message.failed', ({ messageId, failure }) => console.log(`${messageId} failed, resend: ${failure.resend}`))
receiver.on('late', ({ report }) => console.log(`${report.type} of ${report.messageId}, after a newer report`))

const app = express()
app.use('/webhooks/status', receiver.middleware('status')) // before express.json()
const server = app.listen(PORT).once('listening', () => console.log(`Listening on port ${PORT}`))
server.keepAliveTimeout = 75_000 // longer than a proxy keeps idle connections
receiver.closeOnSignal(['SIGTERM', 'SIGINT'], server)
await receiver.start() // retries while the store is unavailable
