/** HTTP for the emulator: request bodies and tokens, JSON answers, its server, and callback URLs. */
import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import getRawBody from 'raw-body'
import { MessagingWebhooksError } from '../public/errors.ts'
import { isRecord, parsedJson } from '../runtime/values.ts'
import { MAX_REQUEST_BYTES } from './not-shown.ts'

/** Middleware for Express or Connect, or a listener for `http.createServer`. */
export type EmulatorApp = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** An earlier body parser may have left its result. */
export type MaybeParsed = IncomingMessage & { readonly body?: unknown }

/** The body as text, or as an earlier parser left it. Rejects if it is too large or the client disconnects. */
export async function readBody(
  request: MaybeParsed,
): Promise<{ readonly text: string } | { readonly parsed: unknown }> {
  if (request.readableDidRead || request.readableEnded) return { parsed: request.body }
  const length = request.headers['content-length'] ?? null
  return { text: await getRawBody(request, { limit: MAX_REQUEST_BYTES, length, encoding: 'utf8' }) }
}

/** The JSON object in a body. Undefined if it is anything else. */
export function recordIn(read: Awaited<ReturnType<typeof readBody>>): Record<string, unknown> | undefined {
  const value = 'parsed' in read ? read.parsed : parsedJson(read.text)
  return isRecord(value) ? value : undefined
}

export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
}

/** Writes a JSON answer, unless one was written before. */
export function reply(response: ServerResponse, status: number, body: object, headers: OutgoingHttpHeaders = {}): void {
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers })
    .end(text)
}

/** Throws `emulator_port` if the port is unavailable. */
export async function listenOn(server: Server, port: number, host: string): Promise<{ url: string; port: number }> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new MessagingWebhooksError('emulator_port', `Tried ${host}:${port}.`, { cause })
  }
  const address = server.address() as AddressInfo // A TCP server always has such an address.
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { url: `http://${name}:${address.port}`, port: address.port }
}

/** Undefined unless the text is an http or https URL. */
export function webUrl(text: string): URL | undefined {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined
}

/** A URL for display: without user and password, otherwise unchanged. */
export function withoutCredentials(text: string): string {
  const url = webUrl(text)
  if (url === undefined) return '(not an http or https URL)'
  if (url.username === '' && url.password === '') return text
  url.username = ''
  url.password = ''
  return url.href
}

/**
 * Keeps a server running, whatever its listener throws: answers 500 if it throws or rejects, or cuts the connection if a
 * response has started.
 */
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
