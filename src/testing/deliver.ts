/** Posts one callback to an app, which need not listen. Contract, service.md#callback-receiver. */
import { types } from 'node:util'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { z } from 'zod'
import { checkOptions, describe, expected, hasMethods, numberFrom, type Given } from '../runtime/check-options.ts'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { signCallback } from './sign.ts'

/** The response of the app, with its body as text. */
export interface Delivered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const deliverOptions = {
  /** The path of the receiver. Default `/`. */
  path: expected<string>(
    'a string that begins with /',
    (path) => typeof path === 'string' && path.startsWith('/'),
  ).default('/'),
  /** Signs the bytes of the body. */
  signingSecret: z.string().optional(),
  /** Added to the body if the callback is an object. */
  authKey: z.string().optional(),
  /** The `t` of the signature, in Unix seconds. Default: this machine's time. */
  timestamp: numberFrom(-Infinity, Infinity, 'Unix seconds').optional(),
  /** Additional headers. They override the default ones. */
  headers: z.record(z.string(), z.string()).default({}),
}
const optionsSchema = z.strictObject(deliverOptions)

/** Options of `deliver`. Without `signingSecret` and `authKey`, the callback has no proof and should be refused. */
export interface DeliverOptions extends Given<typeof deliverOptions> {}

/**
 * Posts `callback` as the service would: an object as JSON, text and bytes unchanged. Follows no redirect. Rejects with an
 * error that the app throws or rejects with, and with an `OptionsError` for an invalid argument. Requires `supertest`, an
 * optional peer dependency; rejects with a `MessagingWebhooksError` (`peer_missing`) if it is not installed.
 */
export async function deliver(
  app: App,
  callback: object | string | Uint8Array,
  options: DeliverOptions = {},
): Promise<Delivered> {
  checkApp(app)
  const { path, signingSecret, authKey, timestamp, headers } = checkOptions(optionsSchema, options, 'deliver')
  const bytes = bytesOf(callback, authKey)
  const signature =
    signingSecret === undefined
      ? {}
      : { 'x-service-signature': signCallback(bytes, signingSecret, timestamp === undefined ? {} : { timestamp }) }
  const request = await loadSupertest()
  return withServer(app, async (server) => {
    const posted = request(server)
      .post(path)
      .set({ 'content-type': 'application/json', 'content-length': String(bytes.length), ...signature })
      .set({ accept: 'application/json', ...headers })
      // Keeps the response as text, so that invalid JSON is not an error.
      .buffer(true)
      .parse((response, done) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => void chunks.push(Buffer.from(chunk)))
        response.on('end', () => done(null, Buffer.concat(chunks).toString()))
      })
    // Not `send`, which would serialise bytes with a JSON content type.
    posted.write(bytes)
    const response = await posted
    return { status: response.status, headers: { ...response.headers }, text: String(response.body) }
  })
}

function bytesOf(callback: unknown, authKey: string | undefined): Buffer {
  if (typeof callback === 'string') return Buffer.from(callback)
  // Not `instanceof`: some test runners have their own realm.
  if (types.isUint8Array(callback)) return Buffer.from(callback)
  if (typeof callback === 'object' && callback !== null)
    return Buffer.from(JSON.stringify(authKey === undefined ? callback : { ...callback, authKey }))
  throw new OptionsError(`deliver: the callback is ${describe(callback)}; expected an object, a string or bytes.`)
}

async function loadSupertest() {
  try {
    const { default: supertest } = await import('supertest')
    return supertest
  } catch (error) {
    const detail = '`deliver` needs `supertest`: npm install --save-dev supertest.'
    throw new MessagingWebhooksError('peer_missing', detail, { cause: error })
  }
}

/** An Express or Connect app, a plain listener such as `receiver.middleware()`, or a server, listening or not. */
export type App = ((request: IncomingMessage, response: ServerResponse) => unknown) | Server | HttpsServer

/** The receiver warns about short idle timeouts, which do not matter in a test. */
const KEEP_ALIVE_MS = 75_000

/** Throws an `OptionsError` for an unsupported app, such as a receiver. */
function checkApp(app: unknown): void {
  if (hasMethods(app, ['middleware', 'onAny', 'start']))
    throw new OptionsError(
      "deliver: got a receiver. Pass your app, or its middleware, such as receiver.middleware('status').",
    )
  if (typeof app !== 'function' && !hasMethods(app, ['listen', 'address', 'close']))
    throw new OptionsError(`deliver: the app is ${describe(app)}; expected an app, a listener or a server.`)
}

/**
 * Calls `work` with a server for the app. Rejects with an error that the app throws or rejects with, which would otherwise end
 * the process.
 */
async function withServer<T>(app: App, work: (server: Server | HttpsServer) => Promise<T>): Promise<T> {
  if (typeof app !== 'function') return work(app)
  let thrown: { readonly error: unknown } | undefined
  const server = createServer((request, response) => {
    function fail(error: unknown): void {
      thrown = { error }
      response.destroy()
    }
    try {
      void Promise.resolve(app(request, response)).catch((error: unknown) => {
        // An error after the response stays unhandled, as in production.
        if (response.writableEnded) throw error
        fail(error)
      })
    } catch (error) {
      fail(error)
    }
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  try {
    return await work(server)
  } catch (error) {
    throw thrown === undefined ? error : thrown.error
  }
}
