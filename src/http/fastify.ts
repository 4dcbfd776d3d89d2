/**
 * A plugin for Fastify that mounts the receiver's middleware as routes, over HTTP/1 and HTTP/2.
 *
 * @module messaging-webhooks/fastify
 */
import '../runtime/supported-node.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ProofPolicy } from '../public/callback.ts'
import { checkOptions, objectLike } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS, type CallbackKind } from '../public/events.ts'
import type { MiddlewareReceiver } from './node.ts'

/** A path for one kind of callback, optionally with its own `proof` policy. */
export type WebhookRoute = string | { readonly url: string; readonly proof?: ProofPolicy | undefined }

/** Options of `app.register(webhooks, …)`: the receiver, and a path for each registered kind of callback. */
export interface WebhooksOptions extends Partial<Readonly<Record<CallbackKind, WebhookRoute | undefined>>> {
  readonly receiver: MiddlewareReceiver
  /** A path for callbacks of any kind. Delivery reports are recognised by their shape. Default: none. */
  readonly any?: WebhookRoute | undefined
  /** Whether `app.close()` closes the receiver too. Default: `true`. */
  readonly close?: boolean | undefined
}

const KINDS = [...CALLBACK_KINDS, 'any'] as const
const otherRoute = z.strictObject({ url: z.string(), proof: z.unknown().optional() })
const route = z.custom<WebhookRoute>(
  (given) => typeof given === 'string' || otherRoute.safeParse(given).success,
  "expected a path such as '/status', or { url, proof }",
)
const webhooksOptions = z.strictObject({
  receiver: objectLike('a receiver from createReceiver()', 'middleware', 'close'),
  ...Object.fromEntries(KINDS.map((name) => [name, route.optional()])),
  close: z.boolean().optional(),
  // Fastify passes its own options to the plugin too.
  ...Object.fromEntries(['prefix', 'logLevel', 'logSerializers'].map((name) => [name, z.unknown().optional()])),
})

/**
 * The plugin. It answers every request to its paths, whatever the method, and closes the receiver after the app's server. The
 * app's `onRequest` hooks run before and its `onResponse` hooks after; no other hook, parser or limit of the app applies.
 * Throws an `OptionsError` for invalid options. Contract, service.md#callback-receiver.
 */
// eslint-disable-next-line @typescript-eslint/require-await -- Fastify waits for the promise of a plugin.
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
    // Answer in `onRequest`, before Fastify parses the body.
    app.all(url, { onRequest: take }, take)
  }
  if (close) app.addHook('onClose', () => receiver.close())
}
