/** Decorators that mark handlers and inject the receiver, and the discovery of the marked handlers in all modules of an app. */
import { Inject, SetMetadata } from '@nestjs/common'
import {
  Reflector,
  ContextIdFactory,
  ModuleRef,
  type ContextId,
  type DiscoveryService,
  type MetadataScanner,
} from '@nestjs/core'
import type { TypesOf } from '../public/events.ts'
import {
  OptionsError,
  type HandlerContext,
  type EventMap,
  type EventPattern,
  type CallbackSchemas,
  type EventHandler,
  type WebhookEvent,
} from '../index.ts'

const HANDLER_METADATA = 'messaging-webhooks:handler'
const RECEIVER_TOKEN = 'messaging-webhooks:receiver'

/** Options of `OnWebhook`. */
export interface OnWebhookOptions {
  /** The `name` of the receiver in `forRoot`. Default: the receiver without a name. */
  readonly receiver?: string | undefined
}

interface HandlerMark {
  readonly pattern: EventPattern | readonly EventPattern[]
  readonly receiver: string | undefined
}

/** The type of `OnWebhook`, with events typed by the schemas `S` and a context typed by `X`. */
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
function marksOf(reflector: Reflector, method: Marked): readonly HandlerMark[] {
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

/** Nest's record of a provider or controller. */
type Wrapper = ReturnType<DiscoveryService['getProviders']>[number]

export interface Discovery {
  readonly discovery: DiscoveryService
  readonly scanner: MetadataScanner
  readonly reflector: Reflector
}

export interface FoundHandler extends HandlerMark {
  /** Class and method name. */
  readonly where: string
  readonly call: EventHandler<WebhookEvent>
}

/** Uses only the first provider of a class that several modules provide: its handlers would run twice. */
export function findHandlers(
  { discovery, scanner, reflector }: Discovery,
  providedTwice: (className: string, modules: readonly [string, string]) => void,
): readonly FoundHandler[] {
  const found: FoundHandler[] = []
  const classes = new Map<unknown, Wrapper>()
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const prototype = prototypeOf(wrapper)
    if (prototype === undefined) continue
    const handlers = scanner
      .getAllMethodNames(prototype)
      .flatMap((name) => handlersOf(wrapper, prototype, name, reflector))
    if (handlers.length === 0) continue
    const before = wrapper.token === wrapper.metatype ? classes.get(wrapper.token) : undefined
    if (before === undefined) found.push(...handlers)
    else providedTwice(prototype.constructor.name, [moduleOf(before), moduleOf(wrapper)])
    if (before === undefined) classes.set(wrapper.token, wrapper)
  }
  return found
}

/** The prototype that has the methods. Undefined for a request-scoped factory, which has no instance yet. */
function prototypeOf(wrapper: Wrapper): object | undefined {
  // Skip an alias: the provider itself is found by its own name.
  if (wrapper.isAlias) return undefined
  if (isShared(wrapper)) {
    const instance: unknown = wrapper.instance
    return typeof instance === 'object' && instance !== null ? prototypeOfObject(instance) : undefined
  }
  if (wrapper.isFactory) return undefined
  const prototype: unknown = wrapper.metatype?.prototype
  return typeof prototype === 'object' && prototype !== null ? prototype : undefined
}

function prototypeOfObject(instance: object): object | undefined {
  const prototype: unknown = Object.getPrototypeOf(instance)
  return typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype ? prototype : undefined
}

/** Whether all events share one instance. Otherwise each event gets its own. */
function isShared(wrapper: Wrapper): boolean {
  return wrapper.isDependencyTreeStatic() && !wrapper.isTransient
}

function handlersOf(wrapper: Wrapper, prototype: object, name: string, reflector: Reflector): readonly FoundHandler[] {
  const method: unknown = Reflect.get(prototype, name)
  if (!isMethod(method)) return []
  const where = `${prototype.constructor.name}.${name}`
  return marksOf(reflector, method).map((mark) => ({ ...mark, where, call: callOf(wrapper, name) }))
}

function callOf(wrapper: Wrapper, name: string): EventHandler<WebhookEvent> {
  if (isShared(wrapper)) return (event, context) => callMethod(wrapper.instance, name, event, context)
  return async (event, context) => callMethod(await instanceFor(wrapper, event), name, event, context)
}

/** Looks up the method at each call, so that a test can replace it. */
function callMethod(instance: unknown, name: string, event: WebhookEvent, context: HandlerContext): unknown {
  const method: unknown = typeof instance === 'object' && instance !== null ? Reflect.get(instance, name) : undefined
  if (!isMethod(method)) throw new TypeError(`The resolved instance has no method ${name}.`)
  const result = method.call(instance, event, context)
  return isSubscribable(result) ? endOf(result) : result
}

/** Handlers of one attempt share request-scoped providers, like the handlers of one request. */
const contextIds = new WeakMap<WebhookEvent, ContextId>()

/** Resolves the provider in its module. The injected `REQUEST` is the event. */
async function instanceFor(wrapper: Wrapper, event: WebhookEvent): Promise<unknown> {
  const moduleRef: unknown = wrapper.host?.getProviderByKey<ModuleRef>(ModuleRef).instance
  if (!(moduleRef instanceof ModuleRef)) throw new TypeError(`${String(wrapper.name)} belongs to no module.`)
  let contextId = contextIds.get(event)
  if (contextId === undefined) {
    contextId = ContextIdFactory.create()
    moduleRef.registerRequestByContextId(event, contextId)
    contextIds.set(event, contextId)
  }
  const resolved: unknown = await moduleRef.resolve(wrapper.token, contextId, { strict: true })
  return resolved
}

type Method = (this: unknown, event: WebhookEvent, context: HandlerContext) => unknown

function isMethod(value: unknown): value is Method {
  return typeof value === 'function'
}

/** An Observable, which Nest handlers may return. It does nothing until subscribed. */
interface Subscribable {
  subscribe(observer: { readonly error: (error: unknown) => void; readonly complete: () => void }): unknown
}

function isSubscribable(value: unknown): value is Subscribable {
  return typeof value === 'object' && value !== null && 'subscribe' in value && typeof value.subscribe === 'function'
}

function endOf(observable: Subscribable): Promise<void> {
  return new Promise((resolve, reject) => {
    observable.subscribe({ error: reject, complete: resolve })
  })
}

function moduleOf({ host }: Wrapper): string {
  return host?.name ?? 'a module'
}
