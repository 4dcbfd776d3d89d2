// The entry of the emulator: a message that is sent, its report at the receiver, and the OpenAPI document.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'messaging-webhooks'
import { createEmulator, type EmulatorReport } from 'messaging-webhooks/emulator'

const keys = { authKey: 'key-of-the-consumer', signingSecret: 'secret-of-the-consumer' }
const receiver = createReceiver({ credentials: keys })
const handled: string[] = []
receiver.on('message.*', ({ type }) => void handled.push(type))
const server = createServer(receiver.middleware('status'))
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as AddressInfo
  const emulator = createEmulator({
    projects: [{ name: 'My Shop', apiKey: 'k', ...keys, callbackUrls: { status: `http://127.0.0.1:${port}/` } }],
    network: { delayMs: [0, 0] },
  })
  const { url } = await emulator.listen()
  const query = new URLSearchParams({ project: 'My Shop', apiKey: 'k', to: '999100000000', message: 'Hello' })
  const { status } = await fetch(`${url}/v1/messaging?${query}`)
  const document = await fetch(`${url}/openapi.json`)
  await emulator.idle({ deadlineMs: 60_000 })
  await receiver.drain({ deadlineMs: 60_000 })
  const { callbacks }: EmulatorReport = emulator.report()
  console.log(status, handled.join(), callbacks.accepted, document.status)
  await emulator.close()
  server.close()
  await receiver.close()
})
