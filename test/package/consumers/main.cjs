// A CommonJS project in JavaScript: Node 22.13 and later can require ES modules that have no top-level await.
const { createServer } = require('node:http')
const { createReceiver } = require('messaging-webhooks')
const { callback, signCallback } = require('messaging-webhooks/testing')

const signingSecret = 'secret-of-the-consumer'
const receiver = createReceiver({ credentials: { signingSecret } })
const handled = []
receiver.on('message.delivered', ({ type, messageId }) => void handled.push(`${type} ${messageId}`))

const server = createServer(receiver.middleware('status'))
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', async () => {
  const body = JSON.stringify(callback.smsDelivery({ messageId: 'm-1' }))
  const headers = { 'x-service-signature': signCallback(body, signingSecret) }
  const { status } = await fetch(`http://127.0.0.1:${server.address().port}/`, { method: 'POST', headers, body })
  await receiver.drain()
  console.log(status, handled.join())
  server.close()
  await receiver.close()
})
