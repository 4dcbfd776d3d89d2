/** One receiver for several projects of the service: each proves itself with its own credentials. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'

const projects = {
  'My Shop': { authKey: 'key-of-the-shop', signingSecret: 'secret-of-the-shop' },
  // Two pairs while the new one takes over: callbacks made with the old one may still be on their way.
  'My Bank': [
    { authKey: 'new-key-of-the-bank', signingSecret: 'new-secret-of-the-bank' },
    { authKey: 'old-key-of-the-bank', signingSecret: 'old-secret-of-the-bank', notAfter: Date.now() + 3_600_000 },
  ],
}
const receiver = createReceiver({ projects, logger: false })

receiver.on('message.delivered', ({ project, messageId }) =>
  console.log(`${project ?? 'no project'}: ${messageId} was delivered`),
)
receiver.onError(({ code }) => console.log(`refused: ${code}`))

const server = createServer(receiver.middleware('status'))
server.keepAliveTimeout = 75_000
await receiver.start()
await once(server.listen(0, '127.0.0.1'), 'listening')
const { port } = server.address() as AddressInfo

async function send(project: string, messageId: string, signingSecret: string): Promise<void> {
  const body = JSON.stringify(callback.smsDelivery({ project, messageId }))
  const headers = { 'x-service-signature': signCallback(body, signingSecret) }
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
  await receiver.drain()
  console.log(`  ${status} for ${messageId} of ${project}, signed with the ${signingSecret}`)
}

await send('My Shop', 'm-1', 'secret-of-the-shop')
await send('My Bank', 'm-1', 'new-secret-of-the-bank') // the same message id in another project: another message
await send('My Bank', 'm-2', 'old-secret-of-the-bank')
await send('My Bank', 'm-3', 'secret-of-the-shop') // one project cannot speak for another

const latest = await receiver.messageState('m-1', { project: 'My Bank' })
console.log('latest of m-1 in My Bank:', latest?.status)
server.close()
await receiver.close()
