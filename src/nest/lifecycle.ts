/** Ties the receiver to the app: mounts it with its module, starts it after all modules, and closes it after the server. */
import type { IncomingMessage } from 'node:http'
import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import type { HttpAdapterHost } from '@nestjs/core'
import type { FastifyInstance } from 'fastify'
import { systemClock, withDeadline } from '../runtime/clock.ts'
import { MessagingWebhooksError, OptionsError, type Receiver, type CallbackSchemas, type Middleware } from '../index.ts'
import { getReceiverToken, isReceiverToken, findHandlers, type Discovery, type FoundHandler } from './handlers.ts'
import { normalPath, type ReadOptions } from './options.ts'

/** How long the app waits for an unavailable store before its server listens. */
const START_WITHIN_MS = 5_000

interface Parts extends Discovery {
  readonly name: string | undefined
  readonly options: ReadOptions
  readonly receiver: Receiver<CallbackSchemas>
  readonly host: HttpAdapterHost
}

export type Lifecycle = OnModuleInit & OnApplicationBootstrap & OnApplicationShutdown

/** Mounts as soon as an adapter exists: `Test.createTestingModule` creates modules before the adapter. */
export function createLifecycle(parts: Parts): Lifecycle {
  const { name, options, receiver, host, discovery } = parts
  const logger = new Logger('WebhooksModule')
  /** The error of the subscriber. rxjs would throw it asynchronously, so `onModuleInit` throws it instead. */
  let failure: { readonly error: unknown } | undefined

  /** Nest's type claims that the adapter always exists. */
  function hasAdapter(): boolean {
    const adapter: unknown = host.httpAdapter
    return adapter !== undefined && adapter !== null
  }

  function mountAll(): void {
    for (const { kind, path, proof } of options.mounts) {
      mount(host.httpAdapter, path, receiver.middleware(kind, { proof }))
      logger.log(`Mapped {${path}, POST}: callbacks of the kind ${kind}`)
    }
  }

  function receiverTokens(): readonly string[] {
    return discovery
      .getProviders()
      .map(({ token }) => token)
      .filter(isReceiverToken)
  }

  /** Two receivers with one name would mount the same paths. */
  function checkIsOnly(): void {
    const token = getReceiverToken(name)
    if (receiverTokens().filter((other) => other === token).length < 2) return
    throw new OptionsError(
      name === undefined
        ? 'WebhooksModule.forRoot was imported twice without a name. Import it once, or give each receiver a `name`.'
        : `WebhooksModule.forRoot was imported twice with the name ${name}. Give each receiver a name of its own.`,
    )
  }

  function attach({ where, pattern, call }: FoundHandler): void {
    try {
      receiver.on(pattern, call)
    } catch (error) {
      if (!(error instanceof MessagingWebhooksError)) throw error
      throw new MessagingWebhooksError(error.code, `@OnWebhook of ${where}: ${error.detail ?? ''}`, { cause: error })
    }
  }

  /** A handler of a receiver that does not exist would never run. */
  function checkReceivers(handlers: readonly FoundHandler[]): void {
    const tokens = receiverTokens()
    for (const { where, receiver: other } of handlers)
      if (!tokens.includes(getReceiverToken(other)))
        throw new OptionsError(
          other === undefined
            ? `@OnWebhook of ${where} names no receiver, but every receiver of this app has a name. Add { receiver }.`
            : `@OnWebhook of ${where}: no receiver has the name ${other}.`,
        )
  }

  checkIsOnly()
  if (hasAdapter()) mountAll()
  else
    host.init$.subscribe(() => {
      try {
        // An app without a server only dispatches.
        if (hasAdapter()) mountAll()
      } catch (error) {
        failure = { error }
      }
    })

  return {
    onModuleInit() {
      if (failure !== undefined) throw failure.error
    },
    async onApplicationBootstrap() {
      const handlers = findHandlers(parts, (className, modules) => {
        logger.warn(
          `${className} is a provider of ${modules.join(' and of ')}. Its handlers run only on the first instance. ` +
            'Provide it in one module, and export it from there.',
        )
      })
      checkReceivers(handlers)
      for (const handler of handlers) if (handler.receiver === name) attach(handler)
      // Limit the wait: the server must listen even while the store is unavailable. Permanent errors appear earlier.
      await withDeadline(systemClock(), START_WITHIN_MS, receiver.start(), () => {})
    },
    onApplicationShutdown: () => receiver.close({ deadlineMs: options.closeDeadlineMs }),
  }
}

type HttpAdapter = HttpAdapterHost['httpAdapter']

/** The mounted paths by adapter: all receivers of an app share one position before other middleware. */
const mounted = new WeakMap<HttpAdapter, Map<string, Middleware>>()

/**
 * Mounts the receiver before every body parser. Nest registers its body parsers in `app.init()`, and `main.ts` adds its own
 * after the app is created; modules are created before both. Throws an `OptionsError` if another receiver has the path, or if
 * the platform is neither Express nor Fastify.
 */
function mount(adapter: HttpAdapter, path: string, middleware: Middleware): void {
  const paths = mounted.get(adapter) ?? mountOn(adapter)
  if (paths.has(normalPath(path)))
    throw new OptionsError(`WebhooksModule: two receivers have the path ${path}. Give each its own path.`)
  paths.set(normalPath(path), middleware)
}

function mountOn(adapter: HttpAdapter): Map<string, Middleware> {
  const paths = new Map<string, Middleware>()
  const find = ({ url }: IncomingMessage): Middleware | undefined => paths.get(normalPath(pathOf(url ?? '')))
  const receive: Middleware = (request, response, next) => {
    const found = find(request)
    if (found === undefined) next?.()
    else found(request, response)
  }
  const type = adapter.getType()
  if (type === 'express') adapter.use(receive)
  else if (type === 'fastify') mountOnFastify(adapter, receive, find)
  else
    throw new OptionsError(
      `WebhooksModule: the app runs on ${type}, which is not supported. Use Express or Fastify, or inject the receiver and ` +
        'call receiver.receive() with the bytes of a request.',
    )
  mounted.set(adapter, paths)
  return paths
}

/** Fastify parses a body after the request hooks. The first hook is middie's, which implements `app.use()`. */
function mountOnFastify(
  adapter: HttpAdapter,
  receive: Middleware,
  find: (request: IncomingMessage) => Middleware | undefined,
): void {
  const instance = adapter.getInstance<FastifyInstance>()
  // With middie, register its first middleware. Apps with `skipMiddie` and testing modules have no middie.
  if ('use' in instance) adapter.use(receive)
  else
    instance.addHook('onRequest', (request, reply, done) => {
      if (find(request.raw) === undefined) done()
      else {
        // The receiver writes the response itself.
        reply.hijack()
        receive(request.raw, reply.raw)
      }
    })
}

/** Removes the query. Behind a proxy, the URL may be absolute. */
function pathOf(url: string): string {
  const end = url.indexOf('?')
  const whole = end === -1 ? url : url.slice(0, end)
  return whole.startsWith('/') ? whole : whole.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '')
}
