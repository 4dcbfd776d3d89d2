/** An emulator on a real server, and a server that receives its callbacks. */
import { text } from 'node:stream/consumers'
import { createEmulator, type Emulator, type EmulatorOptions, type ProjectOptions } from 'messaging-webhooks/emulator'
import type { CallbackKind } from 'messaging-webhooks'
import { onTestFinished, vi } from 'vitest'
import { AUTH_KEY, CREDENTIALS, serve, SIGNING_SECRET } from '../support/receiving.ts'

export const SHOP = 'My Shop'
export const API_KEY = 'api-key-of-the-shop'
export { AUTH_KEY, SIGNING_SECRET }

/** For `expect.poll` and `idle`: machines may be busy. */
export const POLL = { timeout: 30_000 }
const DEADLINE_MS = 60_000

// A busy machine may take its time over a few hundred callbacks.
vi.setConfig({ testTimeout: 120_000 })

/** No delays and no randomness. */
export const AT_ONCE: NonNullable<EmulatorOptions['network']> = {
  delayMs: [0, 0],
  retryDelayMs: 0,
  permanentShare: 0,
  transientShare: 0,
  unreachableShare: 0,
}

interface Emulating {
  readonly emulator: Emulator
  readonly url: string
  readonly endpoint: string
  /** Waits until every callback was made. */
  readonly idle: () => Promise<void>
}

/** Listens until the test ends; `shop` extends the only project. */
export async function emulating(
  shop: Partial<ProjectOptions> = {},
  options: Omit<EmulatorOptions, 'projects'> = {},
): Promise<Emulating> {
  const emulator = createEmulator({
    projects: [{ name: SHOP, apiKey: API_KEY, ...CREDENTIALS, ...shop }],
    network: AT_ONCE,
    // Failures repeat. A test of random seeds passes undefined.
    seed: 1,
    ...options,
  })
  onTestFinished(() => emulator.close())
  const { url } = await emulator.listen()
  return {
    emulator,
    url,
    endpoint: `${url}/api/v1/messaging`,
    async idle() {
      if (!(await emulator.idle({ deadlineMs: DEADLINE_MS }))) throw new Error('The emulator does not come to rest.')
    },
  }
}

export interface Collected {
  readonly path: string
  readonly body: Record<string, unknown>
  readonly text: string
  readonly signature: string | undefined
}

/** A server that accepts and records every callback. */
export async function collecting(status = 204) {
  const collected: Collected[] = []
  const url = await serve((request, response) => {
    void text(request).then((body) => {
      const signature = request.headers['x-service-signature']
      collected.push({
        path: request.url ?? '',
        body: JSON.parse(body) as Record<string, unknown>,
        text: body,
        signature: typeof signature === 'string' ? signature : undefined,
      })
      response.writeHead(status).end()
    })
  })
  const callbackUrls: Record<CallbackKind, string> = {
    status: `${url}status`,
    received: `${url}received`,
    payment: `${url}payment`,
    subscription: `${url}subscription`,
  }
  return { collected, url, callbackUrls }
}

export interface Answered {
  readonly status: number
  readonly body: unknown
}

/** One request; the answer must be JSON. */
export async function call(url: string, init: RequestInit = {}): Promise<Answered> {
  const response = await fetch(url, init)
  return { status: response.status, body: await response.json() }
}

/** POSTs JSON. */
export function postJson(url: string, body: object, headers: Record<string, string> = {}): Promise<Answered> {
  return call(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** Sends on behalf of the shop. */
export function sendFrom(endpoint: string, fields: Readonly<Record<string, unknown>>): Promise<Answered> {
  return postJson(endpoint, { project: SHOP, apiKey: API_KEY, message: 'Hello', ...fields })
}
