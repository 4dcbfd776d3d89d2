/** HTTP as the emulator uses it: the request's body and token, JSON answers, its server, and the URLs that it posts to. */
import { once } from 'node:events'
import http, { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import getRawBody from 'raw-body'
import { MessagingWebhooksError } from '../public/errors.ts'
import { withLastResort } from '../http/last-resort.ts'
import { MAX_REQUEST_BYTES } from './not-shown.ts'

/** What is mounted in Express or Connect, or given to `http.createServer`. */
export type EmulatorApp = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** A request on which a body parser that ran before may have left its result. */
export type MaybeParsed = IncomingMessage & { readonly body?: unknown }

/** The body as text, or what a body parser made of it. Rejects where it is too large, or the client went away. */
export async function readBody(
  request: MaybeParsed,
): Promise<{ readonly text: string } | { readonly parsed: unknown }> {
  if (request.readableDidRead || request.readableEnded) return { parsed: request.body }
  const length = request.headers['content-length'] ?? null
  return { text: await getRawBody(request, { limit: MAX_REQUEST_BYTES, length, encoding: 'utf8' }) }
}

export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
}

/** Writes a JSON answer; does nothing where one was written already. */
export function reply(response: ServerResponse, status: number, body: object, headers: OutgoingHttpHeaders = {}): void {
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers })
    .end(text)
}

export interface Listening {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** Serves the app. Throws `emulator_port` where the port cannot be had. */
export async function listenOn(port: number, host: string, app: EmulatorApp): Promise<Listening> {
  const server = http.createServer(withLastResort(app))
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new MessagingWebhooksError('emulator_port', `It was ${port} of ${host}.`, { cause })
  }
  const address = server.address() as AddressInfo // A server on a port has no other kind of address.
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The http or https URL that this text is; undefined for any other text. */
export function webUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined
}

/** A URL as it may be shown: without user and password. */
export function withoutCredentials(text: string): string {
  const url = webUrl(text)
  if (url === undefined) return '(no http or https URL)'
  url.username = ''
  url.password = ''
  return url.href
}
