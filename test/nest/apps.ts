/** Nest apps on loopback, on both platforms. Decorators are called as functions: the project's own syntax is erasable. */
import 'reflect-metadata'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Module, type INestApplication, type ModuleMetadata, type LoggerService, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { EventPattern } from 'messaging-webhooks'
import { OnWebhook, type OnWebhookOptions, type WebhooksModuleOptions } from 'messaging-webhooks/nest'
import { onTestFinished } from 'vitest'
import { CREDENTIALS } from '../support/receiving.ts'

export type App = INestApplication<Server>

/** For `WebhooksModule.forRoot`. */
export const OPTIONS: WebhooksModuleOptions = {
  credentials: CREDENTIALS,
  status: '/webhooks/status',
  retry: { initialDelayMs: 0 },
  logger: false,
}

/** A new adapter of each platform; without one given, Nest takes Express. */
export const PLATFORMS = {
  Express: () => new ExpressAdapter(),
  Fastify: () => new FastifyAdapter(),
} as const

type Platform = ReturnType<(typeof PLATFORMS)[keyof typeof PLATFORMS]>

/** A module class with this metadata. */
export function moduleWith(metadata: ModuleMetadata, name = 'AppModule'): Type {
  const named = {
    [name]: class {
      readonly isModule = true
    },
  }[name]
  if (named === undefined) throw new Error('There is no class.')
  Module(metadata)(named)
  return named
}

interface AppOptions {
  readonly logger: false | LoggerService
  readonly abortOnError: false
  readonly rawBody?: boolean
}

/** An app that is not listening yet, as in `main.ts`. */
export async function createApp(
  platform: Platform,
  module: Type,
  options: Partial<Pick<AppOptions, 'logger' | 'rawBody'>> = {},
): Promise<App> {
  const given: AppOptions = { logger: false, abortOnError: false, ...options }
  return NestFactory.create<App>(module, platform, given)
}

/** Listens until the test ends or closes it; returns its address. */
export async function listening(app: App): Promise<string> {
  onTestFinished(() => close(app))
  return listen(app)
}

export async function listen(app: App): Promise<string> {
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  return `http://127.0.0.1:${port}/`
}

export async function close(app: App): Promise<void> {
  app.getHttpServer().closeAllConnections()
  await app.close()
}

/** `@OnWebhook(pattern, options)` before a method. */
export function mark(
  type: { readonly prototype: object },
  method: string,
  pattern: EventPattern | readonly EventPattern[],
  options?: OnWebhookOptions,
): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method)
  if (descriptor === undefined) throw new Error(`There is no method ${method}.`)
  OnWebhook(pattern, options)(type.prototype, method, descriptor)
}
