// An ESM project in TypeScript: everything that a user types, and one callback from end to end.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, MessagingWebhooksError, type EventMap, type WebhookEvent } from 'messaging-webhooks'
import { lambdaHandler, type LambdaHandler } from 'messaging-webhooks/lambda'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { z } from 'zod'

const signingSecret: string = 'secret-of-the-consumer'
// An option from a configuration may be undefined: allowed with exactOptionalPropertyTypes, too.
const toleranceSeconds = undefined as number | undefined
const receiver = createReceiver({
  credentials: { signingSecret },
  schemas: { payment: z.object({ amount: z.number() }) },
  toleranceSeconds,
})
const handled: string[] = []
receiver.on('message.delivered', ({ messageId, occurredAt, receivedAt }) => {
  const year: number = (occurredAt ?? receivedAt).getUTCFullYear()
  handled.push(`message.delivered ${messageId} ${year > 2000}`)
})
receiver.on('message.failed', (event: EventMap['message.failed']) => void (event.failure.resend satisfies boolean))
receiver.on('payment', ({ data }) => void (data.amount satisfies number))
receiver.on('message.*', async (event, { signal }) => {
  if (event.type === 'message.queued' && !signal.aborted) await Promise.resolve(event.scheduled)
})
receiver.onAny((event) => void (event satisfies WebhookEvent<{ payment: z.ZodType<{ amount: number }> }>))
receiver.onError((error) => void (error instanceof MessagingWebhooksError))
// Without the types of AWS.
export const handler: LambdaHandler = lambdaHandler(receiver, 'status')
// @ts-expect-error A misspelt type does not compile.
const misspelt = () => receiver.on('message.deliverd', () => {})
// @ts-expect-error Nor does a misspelt option.
const wrongOption = () => createReceiver({ credentials: { signingSecret }, tolerance: 300 })

const server = createServer(receiver.middleware('status'))
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', async () => {
  const body = JSON.stringify(callback.smsDelivery({ messageId: 'm-1' }))
  const headers = { 'x-service-signature': signCallback(body, signingSecret) }
  const { port } = server.address() as AddressInfo
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
  await receiver.drain()
  console.log(status, handled.join(), typeof misspelt, typeof wrongOption)
  server.close()
  await receiver.close()
})
