import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** Writes a JSON answer; does nothing where one was written already. */
export function reply(response: ServerResponse, status: number, body: object, headers: OutgoingHttpHeaders = {}): void {
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers })
    .end(text)
}
