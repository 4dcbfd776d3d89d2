/** Node's HTTP/2 server in its plain form: its requests look like those of HTTP/1, and lack a few things. */
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { withCredentials, type SomeOptions } from '../support/receiving.ts'

/** Sends one request to a receiver of its own; resolves to the headers of the answer once that has ended. */
async function ask(method: string, body?: string, options: SomeOptions = {}) {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
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
  const request = client.request({ ':method': method, ':path': '/' })
  request.end(body)
  const [answer] = (await once(request, 'response')) as [{ readonly ':status': number; readonly connection?: string }]
  request.resume()
  await once(request, 'end')
  return answer
}

test('a refusal has no header of HTTP/1, of which Node would warn', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  expect(await ask('GET')).toMatchObject({ ':status': 405 })
  expect(await ask('POST', JSON.stringify(callback.smsDelivery({})))).toMatchObject({ ':status': 401 })
  await new Promise((resolve) => void setImmediate(resolve))
  expect(warnings).toEqual([])
})

test('the answer to a body that is too large ends with it, and not when its time is over', async () => {
  // No time passes.
  const options = { clock: fakeClock(), maxBodyBytes: 1_024 }
  expect(await ask('POST', 'x'.repeat(1_025), options)).toMatchObject({ ':status': 413 })
})
