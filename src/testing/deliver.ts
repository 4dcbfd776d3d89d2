/** Posts one callback to an app that need not listen anywhere. Contract, "Callback receiver". */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { MessagingWebhooksError } from '../errors.ts'
import { signCallback } from './sign.ts'

/** An Express or Connect app, a plain listener such as `receiver.middleware()`, or a server, listening or not. */
export type App = ((request: IncomingMessage, response: ServerResponse) => unknown) | Server | HttpsServer

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

/**
 * Posts `callback` as the service would: an object as JSON, text and bytes as they are. Follows no redirect, as the
 * service does not. Needs `supertest`, an optional peer dependency: rejects with a `MessagingWebhooksError`
 * (`peer_missing`) where it is not installed.
 */
export async function deliver(
  app: App,
  callback: object | string | Uint8Array,
  { path = '/', signingSecret, authKey, timestamp, headers = {} }: DeliverOptions = {},
): Promise<Delivered> {
  const request = await loadSupertest()
  const bytes = bytesOf(callback, authKey)
  const posted = request(app)
    .post(path)
    .set({ 'content-type': 'application/json', accept: 'application/json' })
    // Else supertest writes bytes that are called JSON as JSON.
    .serialize((body: unknown) => body as string)
    // The answer's text as it is: a JSON body that is none must not become an error here.
    .buffer(true)
    .parse((response, done) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => void chunks.push(Buffer.from(chunk)))
      response.on('end', () => done(null, Buffer.concat(chunks).toString()))
    })
  if (signingSecret !== undefined)
    posted.set('x-service-signature', signCallback(bytes, signingSecret, timestamp === undefined ? {} : { timestamp }))
  const response = await posted.set(headers).send(bytes)
  return { status: response.status, headers: { ...response.headers }, text: String(response.body) }
}

function bytesOf(callback: object | string | Uint8Array, authKey: string | undefined): Buffer {
  if (typeof callback === 'string') return Buffer.from(callback)
  if (callback instanceof Uint8Array) return Buffer.from(callback)
  return Buffer.from(JSON.stringify(authKey === undefined ? callback : { ...callback, authKey }))
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
