/** An Express app that accepts every callback of an emulator and counts those that reached it. */
import http from 'node:http'
import express from 'express'
import type { Receiver } from 'messaging-webhooks'
import type { Emulator } from 'messaging-webhooks/emulator'
import { listen } from '../../support/receiving.ts'

/** Also starts the receiver; `close` ends both. */
export async function serveCallbacks(receiver: Receiver, emulator: Emulator) {
  let requests = 0
  const app = express()
  app.use((_request, _response, next) => {
    requests += 1
    next()
  })
  for (const kind of ['status', 'received', 'payment', 'subscription'] as const)
    app.use(`/webhooks/${kind}`, receiver.middleware(kind))
  const server = http.createServer(app)
  const url = await listen(server)
  const urlOf = (kind: string): string => `${url}webhooks/${kind}`
  emulator.configure({
    callbackUrls: {
      status: urlOf('status'),
      received: urlOf('received'),
      payment: urlOf('payment'),
      subscription: urlOf('subscription'),
    },
  })
  await receiver.start()
  async function close(): Promise<void> {
    server.closeAllConnections()
    server.close()
    await receiver.close()
  }
  return { requests: () => requests, close }
}
