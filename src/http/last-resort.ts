/** For the servers that this package starts itself: no request ends the process, whatever a listener throws. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** The same listener; where it throws or rejects, the request is answered 500, or cut off where an answer has begun. */
export function withLastResort(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
): RequestListener {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await listener(request, response)
    } catch {
      if (response.headersSent) response.destroy()
      else response.writeHead(500, { connection: 'close' }).end()
    }
  }
  return (request, response) => void answer(request, response)
}
