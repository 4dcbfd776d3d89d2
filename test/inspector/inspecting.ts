/** A receiver with its inspector on a real server, and a simulated service. */
import http from 'node:http'
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { inspector, type Authorized, type InspectorOptions } from 'messaging-webhooks/inspector'
import { onTestFinished } from 'vitest'
import { isFakeClock, letTimePass } from '../support/fake-clock.ts'
import { listen, withCredentials, type SomeOptions } from '../support/receiving.ts'

/** The rights of a request without the header `x-may`. */
const ALL: Authorized = { may: ['write', 'reveal'], who: 'Ada' }

/** For tests only: a header carries the rights. */
function byHeader({ headers }: { readonly headers: Headers }): Authorized {
  const may = headers.get('x-may')
  if (may === null) return ALL
  return may === 'read' || may === 'write' || may === 'reveal' ? may : false
}

/** Serves callbacks of kind status at `/status`, of payments at `/payment`, and the inspector at `/look`, until the test ends. */
export async function inspecting(options: SomeOptions = {}, given: Partial<InspectorOptions> = {}) {
  const receiver: Receiver = createReceiver({ logger: false, ...withCredentials(options) })
  const look = inspector(receiver, { authorize: byHeader, path: '/look', ...given })
  const status = receiver.middleware('status')
  const payment = receiver.middleware('payment')
  const server = http.createServer((request, response) => {
    if (request.url === '/status') status(request, response)
    else if (request.url === '/payment') payment(request, response)
    else look(request, response)
  })
  const origin = (await listen(server)).slice(0, -1)
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    const closed = receiver.close({ deadlineMs: 1_000 })
    if (isFakeClock(options.clock)) await letTimePass(options.clock, closed)
    await closed
  })

  /** What the page would get. */
  async function get(path: string, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${origin}/look/${path}`, { headers, redirect: 'manual' })
    return { response, status: response.status, body: await bodyOf(response) }
  }

  /** What the page would send. */
  async function send(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${origin}/look/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...headers },
      body: JSON.stringify(body),
    })
    return { response, status: response.status, body: await bodyOf(response) }
  }

  return { receiver, look, server, origin, get, send, status: `${origin}/status`, payment: `${origin}/payment` }
}

/** The caller names the expected type: a wrong shape fails in its assertions. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function as<T>(body: unknown): T {
  return body as T
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text()
  return response.headers.get('content-type')?.startsWith('application/json') === true ? JSON.parse(text) : text
}
