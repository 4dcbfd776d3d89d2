// A CommonJS project in TypeScript: its `import` becomes `require`.
import { createReceiver, type EventMap } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'

const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' } })
receiver.on('message.delivered', (event: EventMap['message.delivered']) => void (event.messageId satisfies string))
console.log(typeof receiver.middleware('status'), typeof callback.smsDelivery().messageId)
