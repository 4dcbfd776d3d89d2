/** AWS Lambda: the module that a function is made of, and below it one invocation as an HTTP API makes it. */
import { createReceiver } from 'messaging-webhooks'
import { lambdaHandler } from 'messaging-webhooks/lambda'
import { callback, signCallback } from 'messaging-webhooks/testing'

const signingSecret = 'secret-of-the-shop'
// Use the Redis or Postgres store in a function: memory ends with the process, without notice.
const receiver = createReceiver({ credentials: { signingSecret }, logger: false })

receiver.on('message.*', async ({ type, messageId }) => {
  await new Promise((resolve) => setTimeout(resolve, 20)) // its work
  console.log(`${type}: ${messageId}`)
})

receiver.onError(({ code }) => console.log(`refused: ${code}`))

export const status = lambdaHandler(receiver, 'status')
export const payment = lambdaHandler(receiver, 'payment', { proof: 'signature' })

async function invoke(handler: typeof status, fields: Record<string, unknown>, secret: string): Promise<void> {
  const body = JSON.stringify(fields)
  const event = {
    version: '2.0',
    requestContext: { http: { method: 'POST', sourceIp: '127.0.0.1' } },
    headers: { 'content-type': 'application/json', 'x-service-signature': signCallback(body, secret) },
    body,
    isBase64Encoded: false,
  }
  const { statusCode } = await handler(event, { getRemainingTimeInMillis: () => 10_000 })
  console.log(`  answered ${statusCode}`)
}

const report = callback.smsDelivery({ messageId: 'sms-1' })
await invoke(status, report, signingSecret)
await invoke(status, report, signingSecret) // a duplicate
await invoke(payment, callback.payment({ id: 'pay-1' }), 'a guess')
