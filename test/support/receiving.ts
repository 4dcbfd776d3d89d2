/** A receiver on a real server on loopback; the test plays the service. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createReceiver,
  type CallbackKind,
  type MessagingWebhooksError,
  type Middleware,
  type ProofPolicy,
  type Receiver,
  type CallbackSchemas,
  type Store,
} from 'messaging-webhooks'
import type { OptionsOfOneProject, OptionsOfProjects, OtherOptions } from '../../src/receiver/options.ts'
import { signCallback } from 'messaging-webhooks/testing'
import { onTestFinished as ofTheTest } from 'vitest'
import { isFakeClock, letTimePass } from './fake-clock.ts'

export const AUTH_KEY = 'auth-key-of-the-tests'
export const SIGNING_SECRET = 'signing-secret-of-the-tests'
export const CREDENTIALS = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }

/** A receiver's options, of which tests may omit those that have test defaults. */
export type SomeOptions = OtherOptions<CallbackSchemas> & {
  readonly store?: Store<object> | undefined
} & (Partial<OptionsOfOneProject> | OptionsOfProjects)

/** The options, with credentials if none are given. */
export function withCredentials(options: SomeOptions): Parameters<typeof createReceiver>[0] {
  if (options.projects !== undefined) return options
  return { ...options, credentials: options.credentials ?? CREDENTIALS }
}

export interface Mount {
  /** Undefined for a middleware without a kind. */
  readonly kind?: CallbackKind | undefined
  readonly proof?: ProofPolicy | undefined
  /** Mounts the middleware in an application. */
  readonly within?: (middleware: Middleware) => http.RequestListener
}

/** Serves the middleware until the test ends; adds credentials and a silent logger to the receiver's `options`. */
export async function receiving(
  options: SomeOptions = {},
  mount: Mount = {},
  // For a test that runs concurrently with others of its file.
  onTestFinished = ofTheTest,
) {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
  const errors: MessagingWebhooksError[] = []
  receiver.onError((error) => void errors.push(error))
  const middleware = receiver.middleware(mount.kind, { proof: mount.proof })
  const server = http.createServer(mount.within?.(middleware) ?? middleware)
  const url = await listen(server)
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    const closed = receiver.close({ deadlineMs: 100 })
    if (isFakeClock(options.clock)) await letTimePass(options.clock, closed)
    await closed
  })
  return { receiver, server, url, errors }
}

/** Serves the status callbacks of the test's own receiver until the test ends; returns the URL. */
export function servingStatus(receiver: Pick<Receiver, 'middleware' | 'close'>): Promise<string> {
  // What is registered last runs first: the server closes before the receiver.
  ofTheTest(() => receiver.close({ deadlineMs: 1_000 }))
  return serve(receiver.middleware('status'))
}

/** Listens on a free port of loopback. */
export async function listen(server: http.Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/`
}

/** Serves it until the test ends, and returns the URL. */
export function serve(listener: http.RequestListener): Promise<string> {
  const server = http.createServer(listener)
  ofTheTest(() => {
    server.closeAllConnections()
    server.close()
  })
  return listen(server)
}

/** POSTs a body signed as the service signs it; an object gets the authKey added. */
export async function post(
  url: string,
  body: object | string | Uint8Array,
  { timestamp, headers = {} }: { readonly timestamp?: number; readonly headers?: Record<string, string> } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const bytes =
    typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify({ ...body, authKey: AUTH_KEY })
  const signature = signCallback(bytes, SIGNING_SECRET, timestamp === undefined ? {} : { timestamp })
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-signature': signature, ...headers },
    body: typeof bytes === 'string' ? bytes : Buffer.from(bytes),
  })
  return { status: response.status, text: await response.text() }
}
