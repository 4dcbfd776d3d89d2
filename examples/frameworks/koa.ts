/** Koa: the receiver answers on the request and the response of Node.js; mount it before any body parser. */
import Koa from 'koa'
import type { Receiver } from 'messaging-webhooks'

export function koaApp(receiver: Receiver): Koa {
  const status = receiver.middleware('status')
  return new Koa().use((context, next) => {
    if (context.path !== '/webhooks/status') return next()
    context.respond = false
    status(context.req, context.res)
    return undefined
  })
}
