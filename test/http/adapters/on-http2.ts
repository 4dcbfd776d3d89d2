/** An adapter on HTTP/2 in this process: an HTTP/1 request goes on as one stream of a session, as a proxy sends it. */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2, { type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { listen } from '../../support/receiving.ts'
import type { AdapterOptions, StartedAdapter } from './cases.ts'
import { watched } from './watched.ts'

interface Bridge {
  readonly url: string
  close(): void
}

/** Headers about one HTTP/1 connection. */
const HOP_BY_HOP = new Set(['connection', 'host', 'keep-alive', 'transfer-encoding'])

/** Every header with all its values, in order of arrival. */
function fieldsOf({ rawHeaders }: IncomingMessage): OutgoingHttpHeaders {
  const fields: Record<string, string[]> = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    const value = rawHeaders[at + 1] ?? ''
    if (!HOP_BY_HOP.has(name)) fields[name] = [...(fields[name] ?? []), value]
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )
}

/** In front of an HTTP/2 server without TLS. */
export async function bridgeTo(target: string): Promise<Bridge> {
  const { origin } = new URL(target)
  let session: ClientHttp2Session | undefined

  function openSession(): ClientHttp2Session {
    if (session === undefined || session.closed || session.destroyed) {
      session = http2.connect(origin)
      session.on('error', () => {})
    }
    return session
  }

  function forward(request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/' } = request
    const endStream = method === 'GET' || method === 'HEAD'
    const stream = openSession().request({ ...fieldsOf(request), ':method': method, ':path': url }, { endStream })
    stream.on('response', ({ ':status': status = 502, ...headers }) => {
      const fields = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
      // The rest of the request is not read, so nothing else can arrive on this connection.
      if (!request.complete) response.shouldKeepAlive = false
      response.writeHead(status, Object.fromEntries(fields) as http.OutgoingHttpHeaders)
      stream.pipe(response)
    })
    stream.on('close', () => {
      if (!request.complete) request.socket.destroySoon()
    })
    stream.on('error', () => response.destroy())
    request.on('close', () => {
      if (!request.complete) stream.close(http2.constants.NGHTTP2_CANCEL)
    })
    request.on('error', () => {})
    if (endStream) request.resume()
    else request.pipe(stream)
  }

  const server = http.createServer(forward)
  const url = await listen(server)
  return {
    url,
    close() {
      session?.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** `mount` returns the handler of `/webhooks/status`. */
export function onHttp2(
  mount: (receiver: Receiver) => http.RequestListener,
): (options: AdapterOptions) => Promise<StartedAdapter> {
  return async (options) => {
    const receiver = createReceiver(options)
    const observed = watched(receiver)
    const listener = mount(receiver)
    // The types differ from those of HTTP/1; the test uses the common part.
    const server = http2.createServer((request, response) =>
      listener(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const bridge = await bridgeTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    return {
      url: `${bridge.url}webhooks/status`,
      observed,
      async close() {
        bridge.close()
        server.close()
        await receiver.close({ deadlineMs: 100 })
      },
    }
  }
}
