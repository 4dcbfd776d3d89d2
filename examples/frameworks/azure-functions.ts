/** Azure Functions, version 4 of its model: `app.http('status', { methods: ['POST'], authLevel: 'anonymous', handler })`. */
import type { CallbackAnswer, Receiver } from 'messaging-webhooks'

/** What its `HttpRequest` has of a `Request`. */
type AzureRequest = Pick<Request, 'method' | 'headers' | 'body'>

export function azureHandler(receiver: Receiver): (request: AzureRequest) => Promise<CallbackAnswer> {
  return ({ method, headers, body }) => receiver.receive({ kind: 'status', method, headers, body })
}
