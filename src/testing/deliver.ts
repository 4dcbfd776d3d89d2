/** Posts one callback to an app that need not listen anywhere. Contract, service.md#callback-receiver. */
import { types } from 'node:util'
import { z } from 'zod'
import { checkOptions, describe, numberFrom } from '../runtime/check-options.ts'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { checkApp, withServer, type App } from './own-server.ts'
import { signCallback } from './sign.ts'

/** How a callback is delivered; with neither `signingSecret` nor `authKey` it has no proof, and should be refused. */
export interface DeliverOptions {
  /** Where the receiver is mounted. Default `/`. */
  readonly path?: string | undefined
  /** Signs the body's bytes. */
  readonly signingSecret?: string | undefined
  /** Put into the body of a callback that is an object. */
  readonly authKey?: string | undefined
  /** The signature's `t`, in Unix seconds. Default: now, by this machine's clock. */
  readonly timestamp?: number | undefined
  /** Further headers; one of the same name replaces ours. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What the app answered. */
export interface Delivered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const optionsSchema = z.strictObject({
  path: z
    .custom<string>(
      (value) => typeof value === 'string' && value.startsWith('/'),
      'expected a string that begins with /',
    )
    .default('/'),
  signingSecret: z.string().optional(),
  authKey: z.string().optional(),
  timestamp: numberFrom(-Infinity, Infinity, 'Unix seconds').optional(),
  headers: z.record(z.string(), z.string()).default({}),
})

/**
 * Posts `callback` as the service would: an object as JSON, text and bytes as they are. Follows no redirect, as the
 * service does not. Rejects with what a listener throws or rejects with, and with an `OptionsError` for what cannot be
 * delivered. Needs `supertest`, an optional peer dependency: rejects with a `MessagingWebhooksError` (`peer_missing`)
 * where it is not installed.
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
      .set({ 'content-type': 'application/json', accept: 'application/json', ...signature })
      // Else supertest writes bytes that are called JSON as JSON.
      .serialize((body: unknown) => body as string)
      // The answer's text as it is: a JSON body that is none must not become an error here.
      .buffer(true)
      .parse((response, done) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => void chunks.push(Buffer.from(chunk)))
        response.on('end', () => done(null, Buffer.concat(chunks).toString()))
      })
    const response = await posted.set(headers).send(bytes)
    return { status: response.status, headers: { ...response.headers }, text: String(response.body) }
  })
}

function bytesOf(callback: unknown, authKey: string | undefined): Buffer {
  if (typeof callback === 'string') return Buffer.from(callback)
  // Of whichever realm: some test runners have classes of their own.
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
