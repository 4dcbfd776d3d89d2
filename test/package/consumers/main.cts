// A CommonJS project in TypeScript: its `import` becomes `require`.
import { createReceiver, type DeliveredEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'

const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' } })
receiver.on('message.delivered', (event: DeliveredEvent) => void (event.messageId satisfies string))
console.log(typeof receiver.middleware('status'), typeof callback.smsDelivery().messageId)
