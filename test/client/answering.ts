/** A server that answers sends with the bytes of a test, and records the requests. */
import type http from 'node:http'
import type net from 'node:net'
import { text } from 'node:stream/consumers'
import { createClient, SendError, type Client, type ClientOptions, type Sent } from 'messaging-webhooks/client'
import { expect, onTestFinished } from 'vitest'
import { serve } from '../support/receiving.ts'
import { startSocketServer } from '../support/servers/sockets.ts'
import { API_KEY, SHOP } from '../emulator/emulating.ts'

export const DELIVERED = '999100000000'
export const UNSUPPORTED = '999400000012'

/** Contract, service.md#versioning. */
export const PATH = '/v1/messaging'

/** A client without waits between attempts, and without a log. */
export function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}): Client {
  return createClient({
    baseUrl,
    project: SHOP,
    apiKey: API_KEY,
    logger: false,
    retry: { initialDelayMs: 0 },
    ...options,
  })
}

interface Received {
  readonly method: string
  readonly headers: http.IncomingHttpHeaders
  readonly url: string
  readonly body: string
}

/** Answers each request with what `answer` gives for it. */
export async function answering(
  answer: (request: Received) => {
    readonly status?: number
    readonly body: unknown
    readonly type?: string
    readonly location?: string
  },
) {
  const received: Received[] = []
  const url = await serve((request, response) => {
    void text(request).then((body) => {
      const { method = '', url = '', headers } = request
      const one = { method, url, headers, body }
      received.push(one)
      const { status = 200, body: given, type = 'application/json', location } = answer(one)
      response
        .writeHead(status, { 'content-type': type, ...(location === undefined ? {} : { location }) })
        .end(typeof given === 'string' ? given : JSON.stringify(given))
    })
  })
  return { url: url.replace(/\/?$/, PATH), received }
}

/** Passes each connection on; with `whole`, once its request is complete. */
export async function onTheWire(act: (socket: net.Socket, head: string) => void, whole = true) {
  const seen = { connections: 0, requests: 0 }
  const { port, close } = await startSocketServer((socket) => {
    seen.connections += 1
    let got = ''
    if (!whole) {
      act(socket, '')
      return
    }
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1')
      const [head = '', body]: readonly (string | undefined)[] = got.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (body === undefined || body.length < length) return
      got = ''
      seen.requests += 1
      act(socket, head)
    })
  })
  onTestFinished(close)
  return { seen, url: `http://127.0.0.1:${port}${PATH}` }
}

/** The error with which a send rejects. */
export async function failing(send: Promise<Sent>): Promise<SendError> {
  const error = await send.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SendError)
  if (!(error instanceof SendError)) throw new Error('No SendError.')
  return error
}

/** An answer that accepts one recipient. */
export const ACCEPTED = {
  messageData: { messages: 1 },
  recipients: [{ messageId: 'm-1', to: DELIVERED, status: 'accepted', statusCode: '11', messagePart: 1, type: 'bulk' }],
}
