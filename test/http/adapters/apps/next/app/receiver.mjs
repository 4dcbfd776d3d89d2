// Each route is a bundle of its own; what they share is on the global object.
import { createReceiver } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'
import { watched } from '../watched.ts'

function create() {
  const receiver = createReceiver(
    JSON.parse(process.env.RECEIVER_OPTIONS ?? '{"credentials":{"authKey":"of the build"}}'),
  )
  return { observed: watched(receiver), status: receiverHandler(receiver, 'status') }
}

export const shared = (globalThis.receiverOfTheTests ??= create())
