import express from 'express'
import { createReceiver } from 'messaging-webhooks'

const { AUTH_KEY, SIGNING_SECRET, PORT = 3000 } = process.env
const receiver = createReceiver({ credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET } })

receiver.on('message.delivered', (event) => console.log(`${event.messageId} was delivered`))
receiver.on('message.failed', (event) => {
  console.log(`${event.messageId} failed: ${event.failure.resend ? 'send it again' : 'do not send it again'}`)
})

const app = express()
app.use('/webhooks/status', receiver.middleware('status')) // before express.json()
await receiver.start()
const server = app.listen(PORT)
server.keepAliveTimeout = 75_000 // longer than the connections of whatever stands in front stay idle
receiver.closeOnSignal(['SIGTERM', 'SIGINT'], server)
