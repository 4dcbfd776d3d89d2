/** What marks the methods that are handlers, and asks for the receiver. Nest's own metadata holds it. */
import { Inject, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { TypesOf } from '../public/events.ts'
import { OptionsError, type Context, type EventMap, type Pattern, type Schemas } from '../index.ts'

const HANDLER_METADATA = 'messaging-webhooks:handler'
const RECEIVER_TOKEN = 'messaging-webhooks:receiver'

/** Which receiver a handler is for. */
export interface OnWebhookOptions {
  /** The `name` that the receiver was given in `forRoot`. Default: the receiver without a name. */
  readonly receiver?: string | undefined
}

/** What a decorator says of a method, each decorator by itself. */
export interface HandlerMark {
  readonly pattern: Pattern | readonly Pattern[]
  readonly receiver: string | undefined
}

/**
 * Makes a method of a provider, or of a controller, a handler: for one event type, several, or a family (`'message.*'`). The
 * method is called with the event, typed accordingly, and the handler's context. What it throws or rejects with is retried.
 */
export type OnWebhookDecorator<S extends Schemas = {}, X extends object = {}> = <const P extends Pattern>(
  pattern: P | readonly P[],
  options?: OnWebhookOptions,
) => (
  target: object,
  key: string | symbol,
  descriptor: { readonly value?: (event: EventMap<S>[TypesOf<P>], context: Context & X) => unknown },
) => void

/**
 * An `OnWebhook` whose events are typed by your schemas, and whose context by your store:
 * `const OnWebhook = createOnWebhook<typeof schemas>()`.
 */
export function createOnWebhook<S extends Schemas = {}, X extends object = {}>(): OnWebhookDecorator<S, X> {
  return (pattern, options) => (target, key, descriptor) => {
    const { value: method } = descriptor
    const where = `${typeof target === 'function' ? target.name : target.constructor.name}.${String(key)}`
    if (typeof target === 'function' || typeof method !== 'function')
      throw new OptionsError(`@OnWebhook: ${where} is no method of an instance, which is what a handler has to be.`)
    const mark: HandlerMark = { pattern, receiver: options?.receiver }
    SetMetadata(HANDLER_METADATA, [mark, ...marksOf(new Reflector(), method)])(target, key, descriptor)
  }
}

/**
 * Makes a method of a provider, or of a controller, a handler: for one event type, several, or a family (`'message.*'`). The
 * method is called with the event, typed accordingly, and the handler's context. What it throws or rejects with is retried.
 * Handlers are found when the app starts; a type that does not exist is refused then (`pattern_unknown`).
 */
export const OnWebhook: OnWebhookDecorator = createOnWebhook()

/** What decorators said of a method, in the order in which they are written. */
export function marksOf(reflector: Reflector, method: Marked): readonly HandlerMark[] {
  return reflector.get<readonly HandlerMark[] | undefined, string>(HANDLER_METADATA, method) ?? []
}

/** What a function of the user's is to whoever asks only for its metadata. */
type Marked = Parameters<Reflector['get']>[1]

/** The token under which the receiver can be injected; with the `name` of one that has a name. */
export function getReceiverToken(name?: string): string {
  return name === undefined ? RECEIVER_TOKEN : `${RECEIVER_TOKEN}:${name}`
}

/** Whether it is such a token. */
export function isReceiverToken(token: unknown): token is string {
  return token === RECEIVER_TOKEN || (typeof token === 'string' && token.startsWith(`${RECEIVER_TOKEN}:`))
}

/** Injects the receiver into a constructor's parameter or a property; with the `name` of one that has a name. */
export function InjectReceiver(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getReceiverToken(name))
}
