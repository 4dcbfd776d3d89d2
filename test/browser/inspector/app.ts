/** An app with its inspector from the built package, and a simulated service. */
import http from 'node:http'
import { fileURLToPath } from 'node:url'
import { createEmulator } from 'messaging-webhooks/emulator'
import type { Authorized } from 'messaging-webhooks/inspector'
import { onTestFinished } from 'vitest'
import { AUTH_KEY, listen, SIGNING_SECRET, type SomeOptions } from '../../support/receiving.ts'

const built = (path: string): string => fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url))

// Only the built package has a page for a browser. It is built from the same sources, so their types apply.
const { createReceiver } = (await import(built('index.js'))) as typeof import('messaging-webhooks')
const { inspector } = (await import(built('inspector/index.js'))) as typeof import('messaging-webhooks/inspector')
export const { sqliteStore } = (await import(
  built('stores/sqlite/store.js')
)) as typeof import('messaging-webhooks/sqlite')

const PAIR = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
const PROJECT = 'My Shop'

/** Serves callbacks and the inspector until the test ends. `authorize` returns `rights` from then on. */
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
    /** The credentials that the app verifies with from now on. */
    usePair(next: Partial<typeof PAIR>) {
      pair = { ...PAIR, ...next }
    },
    /** Cuts off every request for the page or its assets. */
    cutOff(next: boolean) {
      isOffline = next
      if (next) server.closeAllConnections()
    },
    /** The service reports on an SMS; `fields` override its report. */
    async reportSms(messageId: string, word: string, fields: Readonly<Record<string, unknown>> = {}) {
      const timestamp = Math.floor(Date.now() / 1_000)
      const payload = { project: PROJECT, messageId, channel: 'sms', status: word, network: 'carrier-a', timestamp }
      return emulator.callback('status', { ...payload, ...fields })
    },
    /** The service reports on a chat-app message, including its recipient. */
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

/** Strips a prefix, as a gateway does. */
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
