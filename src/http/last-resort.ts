/** Keeps the servers that this package starts running, whatever a listener throws. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Answers 500 if the listener throws or rejects, or cuts the connection if a response has started. */
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
