/** Starts a receiver whose store is in memory and whose spool is the folder in the argument; prints what `start()` says. */
import { createReceiver, memoryStore, MessagingWebhooksError } from 'messaging-webhooks'

const [spool = ''] = process.argv.slice(2)
const receiver = createReceiver({
  credentials: { authKey: 'auth-key-of-the-test', signingSecret: 'signing-secret-of-the-test' },
  store: memoryStore(),
  spool,
  logger: false,
})
try {
  await receiver.start()
  console.log('started')
} catch (error) {
  console.log(error instanceof MessagingWebhooksError ? `${error.code} ${error.message}` : String(error))
}
await receiver.close()
