/** Connect, without Express; whatever speaks `(request, response, next)` is mounted in the same way. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import connect from 'connect'
import { createReceiver } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'

const signingSecret = 'secret-of-the-shop'
const receiver = createReceiver({ credentials: { signingSecret } })

receiver.on('message.*', ({ type, messageId, channel }) => console.log(`${type}: ${messageId} by ${channel}`))
receiver.on('received', ({ data }) => console.log('received:', data))

const app = connect()
app.use('/webhooks/status', receiver.middleware('status'))
app.use('/webhooks/received', receiver.middleware('received'))
app.use((_request, response) => {
  response.writeHead(404).end('Nothing here.')
})

await receiver.start()
const server = createServer(app)
server.keepAliveTimeout = 75_000
await once(server.listen(0, '127.0.0.1'), 'listening')
const { port } = server.address() as AddressInfo

async function send(kind: string, fields: Record<string, unknown>): Promise<void> {
  const body = JSON.stringify(fields)
  const headers = { 'x-service-signature': signCallback(body, signingSecret) }
  const { status } = await fetch(`http://127.0.0.1:${port}/webhooks/${kind}`, { method: 'POST', headers, body })
  await receiver.drain()
  console.log(`  answered ${status}`)
}

await send('status', callback.smsDelivery({ messageId: 'sms-1' }))
await send('status', callback.chatApp({ statuses: { message_id: 'chat-1', status: 'sent' } }))
await send('received', callback.received({ id: 'in-1', text: 'Is it still there?' }))
await send('elsewhere', {})

server.close()
await receiver.close()
