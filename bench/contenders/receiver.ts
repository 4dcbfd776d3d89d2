/** The receiver as its users run it: memory store, both proofs, one handler for every report. */
import { createServer, type RequestListener } from 'node:http'
import { createReceiver, type Middleware } from 'messaging-webhooks'
import { credentials } from '../load/callbacks.ts'
import type { Contender } from './contender.ts'

/** `mount` says how the middleware stands in the server. */
export function receiverContender(name: string, mount: (middleware: Middleware) => RequestListener): Contender {
  const receiver = createReceiver({ credentials, logger: false })
  let handled = 0
  receiver.on('message.*', () => void (handled += 1))
  const server = createServer(mount(receiver.middleware('status')))
  server.keepAliveTimeout = 75_000
  return {
    name,
    server,
    async verify(sent) {
      await receiver.drain()
      if (handled !== sent) throw new Error(`${name}: handlers got ${handled} of ${sent} callbacks.`)
    },
    close: () => receiver.close({ deadlineMs: 1_000 }),
  }
}
