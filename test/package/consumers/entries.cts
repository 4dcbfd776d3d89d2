// A CommonJS project whose TypeScript knows no `require` of ES modules: the types of each entry that needs no other package.
import {
  createReceiver,
  HandlerError,
  OptionsError,
  RetryLater,
  type Receiver,
  type WebhookEvent,
} from 'messaging-webhooks'
import { createClient, SendError, type Client } from 'messaging-webhooks/client'
import { createEmulator } from 'messaging-webhooks/emulator'
import { receiverHandler } from 'messaging-webhooks/fetch'
import { inspector } from 'messaging-webhooks/inspector'
import { lambdaHandler } from 'messaging-webhooks/lambda'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import type { Store } from 'messaging-webhooks/store'
import { callback, fakeClock, type FakeClock } from 'messaging-webhooks/testing'

const store: Store = sqliteStore('inbox.db')
const receiver: Receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' }, store, logger: false })
const seen: WebhookEvent[] = []
receiver.onAny((event) => void seen.push(event))
receiver.onError((error) => {
  // A class is a type and a value.
  const failed: HandlerError | undefined = error instanceof HandlerError ? error : undefined
  if (failed !== undefined) throw new RetryLater(failed.attempt)
})
function clientOf(given: Client): Client | SendError | OptionsError {
  return given
}
const clock: FakeClock = fakeClock(0)
// @ts-expect-error A misspelt type does not compile.
const misspelt = () => receiver.on('message.deliverd', () => {})
const functions = [createClient, createEmulator, receiverHandler, inspector, lambdaHandler, clientOf, misspelt]
console.log(
  functions.every((each) => typeof each === 'function'),
  clock.now(),
  typeof callback.smsDelivery().messageId,
)
