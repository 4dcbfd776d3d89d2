/** Ties the receiver to the app: mounts it with its module, starts it after all modules, and closes it after the server. */
import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import type { HttpAdapterHost } from '@nestjs/core'
import { systemClock, withDeadline } from '../runtime/clock.ts'
import { MessagingWebhooksError, OptionsError, type Receiver, type CallbackSchemas } from '../index.ts'
import { getReceiverToken, isReceiverToken } from './decorators.ts'
import { findHandlers, type Discovery, type FoundHandler } from './discover.ts'
import { mount } from './mount.ts'
import type { ReadOptions } from './options.ts'

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
