/** Hono, wherever it runs: its request is the platform's own `Request` in `c.req.raw`. */
import { Hono } from 'hono'
import type { Receiver } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'

export function honoApp(receiver: Receiver): Hono {
  const status = receiverHandler(receiver, 'status')
  const app = new Hono()
  app.all('/webhooks/status', (c) => status(c.req.raw)) // on Workers: status(c.req.raw, c.executionCtx)
  return app
}
