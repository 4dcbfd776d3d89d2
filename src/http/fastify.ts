/**
 * Fastify 5: a plugin whose routes are the receiver's middleware, over HTTP/1 and HTTP/2.
 *
 * @module messaging-webhooks/fastify
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ProofPolicy } from '../public/callback.ts'
import { checkOptions, objectLike } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS, type CallbackKind } from '../public/events.ts'
import type { MiddlewareReceiver } from './node.ts'

/** Where callbacks of a kind arrive: a path, or one that needs other proofs than the receiver's option `proof` says. */
export type WebhookRoute = string | { readonly url: string; readonly proof?: ProofPolicy | undefined }

/** What `app.register(webhooks, …)` takes: the receiver, and a path for each kind of callback that is registered. */
export interface WebhooksOptions extends Partial<Readonly<Record<CallbackKind, WebhookRoute | undefined>>> {
  readonly receiver: MiddlewareReceiver
  /** A path for callbacks of any kind: delivery reports are recognised by their shape. Default: none. */
  readonly any?: WebhookRoute | undefined
  /** `false`: `app.close()` leaves the receiver open. Default: `true`. */
  readonly close?: boolean | undefined
}

const KINDS = [...CALLBACK_KINDS, 'any'] as const
const otherRoute = z.strictObject({ url: z.string(), proof: z.unknown().optional() })
const route = z.custom<WebhookRoute>(
  (given) => typeof given === 'string' || otherRoute.safeParse(given).success,
  "expected a path such as '/status', or { url, proof }",
)
const webhooksOptions = z.strictObject({
  receiver: objectLike('what createReceiver() returned', 'middleware', 'close'),
  ...Object.fromEntries(KINDS.map((name) => [name, route.optional()])),
  close: z.boolean().optional(),
  // Fastify hands the plugin its own options, too.
  ...Object.fromEntries(['prefix', 'logLevel', 'logSerializers'].map((name) => [name, z.unknown().optional()])),
})

/**
 * The plugin: takes every request to its paths, of any method, and closes the receiver after the app's server. Of the app's
 * hooks, those of `onRequest` run before and those of `onResponse` after; no parser, limit or other hook of the app comes
 * between. Throws an `OptionsError` for options that cannot work. Contract, service.md#callback-receiver.
 */
// eslint-disable-next-line @typescript-eslint/require-await -- A plugin says that it is done by its promise.
export async function webhooks(app: FastifyInstance, options: WebhooksOptions): Promise<void> {
  checkOptions(webhooksOptions, options, 'webhooks')
  const { receiver, close = true } = options
  const routes = KINDS.flatMap((kind) => (options[kind] === undefined ? [] : { kind, route: options[kind] }))
  if (routes.length === 0)
    throw new OptionsError("webhooks: no path is given; expected one, such as status: '/status'.")
  for (const { kind, route } of routes) {
    const { url, ...mount } = typeof route === 'string' ? { url: route } : route
    const answer = receiver.middleware(kind === 'any' ? undefined : kind, mount)
    const take = (request: FastifyRequest, reply: FastifyReply): void => answer(request.raw, reply.hijack().raw)
    // What comes next, Fastify's own reading of the body above all, never begins.
    app.route({ method: app.supportedMethods, url, onRequest: take, handler: take })
  }
  if (close) app.addHook('onClose', () => receiver.close())
}
