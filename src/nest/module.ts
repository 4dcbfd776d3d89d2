/** The module itself, as apps import it. */
import { Logger as NestLogger, Module, type DynamicModule, type Provider } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, MetadataScanner, Reflector } from '@nestjs/core'
import { systemClock } from '../runtime/clock.ts'
import { createReceiver, type Receiver, type Schemas } from '../index.ts'
import { limitedLogger } from '../runtime/logger.ts'
import { getReceiverToken } from './decorators.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'
import {
  checkName,
  readOptions,
  type ReadOptions,
  type UnnamedOptions,
  type WebhooksModuleAsyncOptions,
  type WebhooksModuleOptions,
} from './options.ts'

/**
 * The receiver as a NestJS module. It mounts the paths that it is told before every body parser, hands events to the methods
 * that `@OnWebhook` marks, starts with the app, and closes with it. Contract, service.md#callback-receiver.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- Nest knows a module by its class
export class WebhooksModule {
  /**
   * To be imported once, in the root module; with a `name`, once for each receiver. Throws an `OptionsError` for a path or a
   * name that cannot be; for an option that cannot work the receiver throws one as the app is made.
   */
  static forRoot({ name, ...options }: WebhooksModuleOptions): DynamicModule {
    checkName(name)
    return moduleOf(name, [], [{ provide: optionsToken(name), useValue: readOptions(options) }])
  }

  /**
   * The same with options that a function returns, which is called with what it injects, such as a service of configuration.
   * The app is not made where one of them cannot work.
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
 * Everybody may inject the receiver, so it stands in a global module. Nest closes those last, though, and makes them first: what
 * starts and closes the receiver stands in the one that the app imports.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- Nest knows a module by its class
class ReceiverModule {}
Module({})(ReceiverModule)

function moduleOf(
  name: string | undefined,
  imports: NonNullable<DynamicModule['imports']>,
  options: readonly Provider[],
): DynamicModule {
  const receiver: Provider<Receiver<Schemas>> = {
    provide: getReceiverToken(name),
    inject: [optionsToken(name)],
    useFactory: ({ receiver: given }: ReadOptions) => createReceiver({ logger: nestLogger(), ...given }),
  }
  const lifecycle: Provider<Lifecycle> = {
    provide: `messaging-webhooks:lifecycle:${name ?? ''}`,
    inject: [optionsToken(name), receiver.provide, HttpAdapterHost, DiscoveryService, MetadataScanner, Reflector],
    useFactory: (
      read: ReadOptions,
      made: Receiver<Schemas>,
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

/** Warnings and errors, at most ten lines a minute for each code, as on the console. */
function nestLogger(): ReturnType<typeof limitedLogger> {
  const logger = new NestLogger('WebhooksModule')
  return limitedLogger(systemClock(), (level, line) => logger[level](line))
}
