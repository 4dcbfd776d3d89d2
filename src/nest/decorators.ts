/** Decorators that mark handlers and inject the receiver, based on Nest's metadata. */
import { Inject, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { TypesOf } from '../public/events.ts'
import { OptionsError, type HandlerContext, type EventMap, type EventPattern, type CallbackSchemas } from '../index.ts'

const HANDLER_METADATA = 'messaging-webhooks:handler'
const RECEIVER_TOKEN = 'messaging-webhooks:receiver'

/** Options of `OnWebhook`. */
export interface OnWebhookOptions {
  /** The `name` of the receiver in `forRoot`. Default: the receiver without a name. */
  readonly receiver?: string | undefined
}

export interface HandlerMark {
  readonly pattern: EventPattern | readonly EventPattern[]
  readonly receiver: string | undefined
}

/**
 * Makes a method of a provider or controller a handler: for one event type, several, or a family (`'message.*'`). Nest calls
 * the method with the typed event and the handler's context. If it throws or rejects, the event is retried.
 */
export type OnWebhookDecorator<S extends CallbackSchemas = {}, X extends object = {}> = <const P extends EventPattern>(
  pattern: P | readonly P[],
  options?: OnWebhookOptions,
) => (
  target: object,
  key: string | symbol,
  descriptor: { readonly value?: (event: EventMap<S>[TypesOf<P>], context: HandlerContext & X) => unknown },
) => void

/**
 * An `OnWebhook` with events typed by your schemas and a context typed by your store: `const OnWebhook = createOnWebhook<typeof
 * schemas>()`.
 */
export function createOnWebhook<S extends CallbackSchemas = {}, X extends object = {}>(): OnWebhookDecorator<S, X> {
  return (pattern, options) => (target, key, descriptor) => {
    const { value: method } = descriptor
    const where = `${typeof target === 'function' ? target.name : target.constructor.name}.${String(key)}`
    if (typeof target === 'function' || typeof method !== 'function')
      throw new OptionsError(
        `@OnWebhook: ${where} is not an instance method. Decorate a method that is neither static nor a property.`,
      )
    const mark: HandlerMark = { pattern, receiver: options?.receiver }
    SetMetadata(HANDLER_METADATA, [mark, ...marksOf(new Reflector(), method)])(target, key, descriptor)
  }
}

/**
 * Makes a method of a provider or controller a handler: for one event type, several, or a family (`'message.*'`). Nest calls
 * the method with the typed event and the handler's context. If it throws or rejects, the event is retried. An unknown type
 * fails the start of the app (`pattern_unknown`).
 */
export const OnWebhook: OnWebhookDecorator = createOnWebhook()

/** The decorators of a method, in source order. */
export function marksOf(reflector: Reflector, method: Marked): readonly HandlerMark[] {
  return reflector.get<readonly HandlerMark[] | undefined, string>(HANDLER_METADATA, method) ?? []
}

type Marked = Parameters<Reflector['get']>[1]

/** The injection token of the receiver, or of the receiver with this name. */
export function getReceiverToken(name?: string): string {
  return name === undefined ? RECEIVER_TOKEN : `${RECEIVER_TOKEN}:${name}`
}

export function isReceiverToken(token: unknown): token is string {
  return token === RECEIVER_TOKEN || (typeof token === 'string' && token.startsWith(`${RECEIVER_TOKEN}:`))
}

/** Injects the receiver, or the receiver with this name, into a constructor parameter or a property. */
export function InjectReceiver(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getReceiverToken(name))
}
