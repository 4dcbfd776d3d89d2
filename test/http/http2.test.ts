/** Node's HTTP/2 server in its plain form: its requests look like those of HTTP/1, and lack a few things. */
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'

/** Sends one request to a receiver of its own; resolves to the headers of the answer. */
async function ask(method: string, body?: string, headers: Readonly<Record<string, string>> = {}) {
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }, logger: false })
  onTestFinished(() => receiver.close())
  const listener = receiver.middleware('status')
  // Its types are others than those of HTTP/1; what they have in common is what is used.
  const server = createServer((request, response) =>
    listener(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    client.close()
    server.close()
  })
  const request = client.request({ ':method': method, ':path': '/', ...headers })
  request.end(body)
  const [answer] = (await once(request, 'response')) as [{ readonly ':status': number; readonly connection?: string }]
  request.resume()
  return answer
}

test('a refusal has no header of HTTP/1, of which Node would warn', async () => {
  const warnings: Error[] = []
  const heard = (warning: Error): void => void warnings.push(warning)
  process.on('warning', heard)
  onTestFinished(() => void process.off('warning', heard))
  expect(await ask('GET')).toMatchObject({ ':status': 405 })
  expect(await ask('POST', JSON.stringify(callback.smsDelivery({})))).toMatchObject({ ':status': 401 })
  await new Promise((resolve) => void setImmediate(resolve))
  expect(warnings).toEqual([])
})
