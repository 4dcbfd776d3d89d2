/** The receiver as its users run it: memory store unless another is given, both proofs, one handler for every report. */
import { createServer, type RequestListener } from 'node:http'
import { createReceiver, type Middleware, type Store } from 'messaging-webhooks'
import { credentials } from '../load/callbacks.ts'
import type { Contender } from './contender.ts'

/** `mount` says how the middleware stands in the server. */
export function receiverContender(
  name: string,
  mount: (middleware: Middleware) => RequestListener,
  store?: Store,
): Contender {
  const receiver = createReceiver({ credentials, store, logger: false })
  let handled = 0
  receiver.on('message.*', () => void (handled += 1))
  const server = createServer(mount(receiver.middleware('status')))
  server.keepAliveTimeout = 75_000
  return {
    name,
    server,
    async verify(sent) {
      // A disk takes its time with a whole round.
      await receiver.drain({ deadlineMs: 120_000 })
      if (handled !== sent) throw new Error(`${name}: handlers got ${handled} of ${sent} callbacks.`)
    },
    close: () => receiver.close({ deadlineMs: 1_000 }),
  }
}
