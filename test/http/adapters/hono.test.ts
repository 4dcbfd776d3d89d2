/** Hono on @hono/node-server: `Request` and `Response` on Node's own HTTP server. */
import type http from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { honoApp } from '../../../examples/frameworks/hono.ts'
import { adapterCases } from './cases.ts'
import { onNode } from './on-node.ts'

function listener(app: Hono): http.RequestListener {
  const answer = getRequestListener(app.fetch)
  return (incoming, response) => void answer(incoming, response)
}

adapterCases('Hono on Node.js', {
  start: onNode((receiver) => listener(honoApp(receiver))),
  parser: {
    start: onNode((receiver) => {
      const app = new Hono()
      app.use(async (c, next) => {
        await c.req.json()
        await next()
      })
      app.route('/', honoApp(receiver))
      return listener(app)
    }),
    code: 'body_already_read',
    says: 'or pass `request.clone()` to that code',
  },
})
