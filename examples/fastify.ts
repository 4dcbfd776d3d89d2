/** Fastify: callbacks on paths of their own, beside an app that parses JSON and knows nothing of them. */
import Fastify from 'fastify'
import { createReceiver } from 'messaging-webhooks'
import { webhooks } from 'messaging-webhooks/fastify'
import { callback, signCallback } from 'messaging-webhooks/testing'

const signingSecret = 'secret-of-the-shop'
const app = Fastify({ return503OnClosing: false })
const receiver = createReceiver({ credentials: { signingSecret }, logger: app.log })

receiver.on('message.*', ({ type, messageId, channel }) => console.log(`${type}: ${messageId} by ${channel}`))
receiver.on('payment', ({ data }) => console.log(`paid: ${JSON.stringify(data['id'])}`))

app.register(webhooks, {
  prefix: '/webhooks',
  receiver,
  status: '/status',
  payment: { url: '/payment', proof: 'signature' },
})
// Two things that would refuse a callback: a body limit, and a check for signed-in users.
app.post('/orders', { bodyLimit: 100 }, async ({ body }) => ({ ordered: body }))
app.addHook('preHandler', async ({ headers }, reply) => {
  if (headers.authorization === undefined) await reply.code(403).send('Sign in first.')
})

await receiver.start()
const url = await app.listen({ port: 0, host: '127.0.0.1' })

async function send(path: string, fields: Record<string, unknown>): Promise<void> {
  const body = JSON.stringify(fields)
  const headers = { 'content-type': 'application/json', 'x-service-signature': signCallback(body, signingSecret) }
  const { status } = await fetch(url + path, { method: 'POST', headers, body })
  await receiver.drain()
  console.log(`  answered ${status}`)
}

await send('/webhooks/status', callback.smsDelivery({ messageId: 'sms-1' }))
await send('/webhooks/payment', callback.payment({ id: 'pay-1', amount: 1250 }))
await send('/orders', { item: 1 })

await app.close()
console.log(`closed: the store is ${(await receiver.stats()).store}`)
