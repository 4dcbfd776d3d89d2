/** An adapter on a server of Node.js in this process. */
import http from 'node:http'
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { listen } from '../../support/receiving.ts'
import type { AdapterOptions, StartedAdapter } from './cases.ts'
import { watched } from './watched.ts'

/** `mount` returns the handler of `/webhooks/status`, which may answer anything else as it likes. */
export function onNode(
  mount: (receiver: Receiver) => http.RequestListener,
): (options: AdapterOptions) => Promise<StartedAdapter> {
  return async (options) => {
    const receiver = createReceiver(options)
    const observed = watched(receiver)
    const server = http.createServer(mount(receiver))
    const url = await listen(server)
    return {
      url: `${url}webhooks/status`,
      observed,
      async close() {
        server.closeAllConnections()
        server.close()
        await receiver.close({ deadlineMs: 100 })
      },
    }
  }
}
