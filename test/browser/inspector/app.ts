/** An app with its inspector, as the built package has them, and the service played against it. */
import http from 'node:http'
import { fileURLToPath } from 'node:url'
import { createEmulator } from 'messaging-webhooks/emulator'
import type { Authorized } from 'messaging-webhooks/inspector'
import { onTestFinished } from 'vitest'
import { AUTH_KEY, listen, SIGNING_SECRET, type SomeOptions } from '../../support/receiving.ts'

const built = (path: string): string => fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url))

// Only what is built has a page for a browser; it is of the same sources, and so has their types.
const { createReceiver } = (await import(built('index.js'))) as typeof import('messaging-webhooks')
const { inspector } = (await import(built('inspector/index.js'))) as typeof import('messaging-webhooks/inspector')
export const { sqliteStore } = (await import(
  built('stores/sqlite/store.js')
)) as typeof import('messaging-webhooks/sqlite')

const PAIR = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
const PROJECT = 'My Shop'

/** Serves callbacks and the inspector until the test ends. `rights` are what `authorize` says from then on. */
export async function inspectedApp(options: Omit<SomeOptions, 'credentials' | 'projects'> = {}) {
  let pair = PAIR
  let rights: Authorized = { may: ['write', 'reveal'], who: 'Ada' }
  let isOffline = false
  const receiver = createReceiver({ logger: false, ...options, credentials: () => pair })
  const look = inspector(receiver, { authorize: () => rights, path: '/look' })
  const status = receiver.middleware('status')
  const received = receiver.middleware('received')
  const server = http.createServer((request, response) => {
    if (request.url === '/status') status(request, response)
    else if (request.url === '/received') received(request, response)
    else if (isOffline) request.socket.destroy()
    else look(request, response)
  })
  const origin = (await listen(server)).slice(0, -1)
  const emulator = createEmulator({
    projects: [
      { name: PROJECT, ...PAIR, callbackUrls: { status: `${origin}/status`, received: `${origin}/received` } },
    ],
  })
  await receiver.start()
  onTestFinished(async () => {
    await emulator.close()
    server.closeAllConnections()
    server.close()
    await receiver.close({ deadlineMs: 1_000 })
  })

  return {
    receiver,
    emulator,
    server,
    origin,
    url: `${origin}/look/`,
    allow(next: Authorized) {
      rights = next
    },
    /** What the app verifies with from now on. */
    usePair(next: Partial<typeof PAIR>) {
      pair = { ...PAIR, ...next }
    },
    /** Cuts off every request for the page or its assets. */
    cutOff(next: boolean) {
      isOffline = next
      if (next) server.closeAllConnections()
    },
    /** The service reports about an SMS; `fields` replace what it says. */
    async reportSms(messageId: string, word: string, fields: Readonly<Record<string, unknown>> = {}) {
      const timestamp = Math.floor(Date.now() / 1_000)
      const payload = { project: PROJECT, messageId, channel: 'sms', status: word, network: 'carrier-a', timestamp }
      return emulator.callback('status', { ...payload, ...fields })
    },
    /** And about a message of the chat-app, which names its recipient. */
    async reportChat(messageId: string, word: string, recipient: string, timestamp = Math.floor(Date.now() / 1_000)) {
      const statuses = { recipient, message_id: messageId, status: word, type: 'status' }
      return emulator.callback('status', {
        project: PROJECT,
        channel: 'chat-app',
        phone_number: '999000000000',
        timestamp,
        statuses,
      })
    },
  }
}

/** Takes a prefix off, as a gateway does. */
export async function behindProxy(target: string, prefix: string): Promise<string> {
  const proxy = http.createServer((request, response) => {
    const path = request.url ?? '/'
    if (!path.startsWith(prefix)) {
      response.writeHead(502).end()
      return
    }
    const { method, headers } = request
    const passed = http.request(target + path.slice(prefix.length), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    request.pipe(passed)
  })
  const origin = (await listen(proxy)).slice(0, -1)
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return origin
}
