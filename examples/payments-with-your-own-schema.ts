/** The service does not document its payment callbacks, so you say what they look like; `event.data` has your type. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createReceiver } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { z } from 'zod'

const signingSecret = 'secret-of-the-shop'
const payment = z.object({
  id: z.string(),
  amount: z.coerce.number().positive(),
  currency: z.string().length(3),
  status: z.enum(['completed', 'failed']),
})
const receiver = createReceiver({
  credentials: { authKey: 'key-of-the-shop', signingSecret },
  schemas: { payment },
  logger: false,
})

receiver.on('payment', ({ data }) => {
  const sum = data.amount.toFixed(2) // a number, whatever the service sent
  console.log(data.status === 'completed' ? `book ${sum} ${data.currency}` : `payment ${data.id} failed`)
})
// What your schema refuses was paid all the same: keep it for a person to look at.
receiver.on('unrecognized', ({ problem, data }) => console.log(`look at this: ${problem}`, data))
receiver.onError(({ code }) => console.log(`refused: ${code}`))

const app = express()
// Money is at stake: here the authKey alone, which anybody who reads one callback knows, is not enough.
app.use('/webhooks/payment', receiver.middleware('payment', { proof: 'signature' }))
await receiver.start()
const server = app.listen(0, '127.0.0.1')
server.keepAliveTimeout = 75_000
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/payment`

async function send(fields: Record<string, unknown>, secret = signingSecret): Promise<void> {
  const body = JSON.stringify({ ...callback.payment(fields), authKey: 'key-of-the-shop' })
  const headers = { 'x-service-signature': signCallback(body, secret) }
  const { status } = await fetch(url, { method: 'POST', headers, body })
  await receiver.drain()
  console.log(`  answered ${status}`)
}

await send({ id: 'pay-1', amount: '1250', currency: 'KES' })
await send({ id: 'pay-2', amount: 300, status: 'failed' })
await send({ id: 'pay-3', amount: 'a lot' })
await send({ id: 'pay-4' }, 'a guess') // with the right authKey

server.close()
await receiver.close()
