/** Google Cloud Functions: `http('status', googleHandler(receiver))`. Its parser runs first, and leaves the bytes in `rawBody`. */
import type { Middleware, Receiver } from 'messaging-webhooks'

export function googleHandler(receiver: Receiver): Middleware {
  return receiver.middleware('status')
}
