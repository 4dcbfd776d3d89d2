/**
 * The receiver as a NestJS module, for Express and Fastify. Mounts the URLs before every body parser and dispatches events to
 * methods of providers.
 *
 * @module messaging-webhooks/nest
 */
import { Logger as NestLogger, Module, type DynamicModule, type Provider } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, MetadataScanner, Reflector } from '@nestjs/core'
import { systemClock } from '../runtime/clock.ts'
import { createReceiver, type Receiver, type CallbackSchemas } from '../index.ts'
import { limitedLogger } from '../runtime/logger.ts'
import { getReceiverToken } from './handlers.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'
import {
  checkName,
  readOptions,
  type ReadOptions,
  type UnnamedOptions,
  type WebhooksModuleAsyncOptions,
  type WebhooksModuleOptions,
} from './options.ts'

export {
  createOnWebhook,
  getReceiverToken,
  InjectReceiver,
  OnWebhook,
  type OnWebhookDecorator,
  type OnWebhookOptions,
} from './handlers.ts'
export type { CallbackPath, WebhooksModuleAsyncOptions, WebhooksModuleOptions, WebhooksPaths } from './options.ts'

/**
 * The receiver as a NestJS module. Mounts the configured paths before every body parser, dispatches events to the methods
 * marked with `@OnWebhook`, and starts and closes with the app. Contract, service.md#callback-receiver.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- Nest knows a module by its class
export class WebhooksModule {
  /**
   * Import it once in the root module; with a `name`, once per receiver. Throws an `OptionsError` for an invalid path or name.
   * Other invalid options fail the creation of the app.
   */
  static forRoot({ name, ...options }: WebhooksModuleOptions): DynamicModule {
    checkName(name)
    return moduleOf(name, [], [{ provide: optionsToken(name), useValue: readOptions(options) }])
  }

  /**
   * Like `forRoot`, with options that a function returns. The function receives the injected providers, such as a configuration
   * service. Invalid options fail the creation of the app.
   */
  static forRootAsync({ name, imports = [], inject = [], useFactory }: WebhooksModuleAsyncOptions): DynamicModule {
    checkName(name)
    const given = `${optionsToken(name)}:given`
    return moduleOf(name, imports, [
      { provide: given, inject, useFactory },
      { provide: optionsToken(name), inject: [given], useFactory: (options: UnnamedOptions) => readOptions(options) },
    ])
  }
}
Module({})(WebhooksModule)

/**
 * A global module, so that every provider can inject the receiver. Nest creates global modules first and closes them last, so
 * the lifecycle belongs to the imported module instead.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- Nest knows a module by its class
class ReceiverModule {}
Module({})(ReceiverModule)

function moduleOf(
  name: string | undefined,
  imports: NonNullable<DynamicModule['imports']>,
  options: readonly Provider[],
): DynamicModule {
  const receiver: Provider<Receiver<CallbackSchemas>> = {
    provide: getReceiverToken(name),
    inject: [optionsToken(name)],
    useFactory: ({ receiver: given }: ReadOptions) => createReceiver({ logger: nestLogger(), ...given }),
  }
  const lifecycle: Provider<Lifecycle> = {
    provide: `messaging-webhooks:lifecycle:${name ?? ''}`,
    inject: [optionsToken(name), receiver.provide, HttpAdapterHost, DiscoveryService, MetadataScanner, Reflector],
    useFactory: (
      read: ReadOptions,
      made: Receiver<CallbackSchemas>,
      host: HttpAdapterHost,
      discovery: DiscoveryService,
      scanner: MetadataScanner,
      reflector: Reflector,
    ) => createLifecycle({ name, options: read, receiver: made, host, discovery, scanner, reflector }),
  }
  return {
    module: WebhooksModule,
    imports: [
      {
        module: ReceiverModule,
        global: true,
        imports,
        providers: [...options, receiver],
        exports: [optionsToken(name), receiver.provide],
      },
      DiscoveryModule,
    ],
    providers: [lifecycle],
  }
}

function optionsToken(name: string | undefined): string {
  return `messaging-webhooks:options:${name ?? ''}`
}

/** Logs warnings and errors, at most ten lines a minute per code, like the default logger. */
function nestLogger(): ReturnType<typeof limitedLogger> {
  const logger = new NestLogger('WebhooksModule')
  return limitedLogger(systemClock(), (level, line) => logger[level](line))
}
