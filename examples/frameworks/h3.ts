/** h3; in Nitro, the same function is the default export of `routes/webhooks/status.ts`, within `defineHandler`. */
import { H3 } from 'h3'
import type { Receiver } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'

export function h3App(receiver: Receiver): H3 {
  const status = receiverHandler(receiver, 'status')
  return new H3().all('/webhooks/status', (event) => status(event.req))
}
