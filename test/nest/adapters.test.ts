/** The contract of every adapter, on both of Nest's platforms. */
import express from 'express'
import { ExpressAdapter } from '@nestjs/platform-express'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import type { Receiver } from 'messaging-webhooks'
import { getReceiverToken, WebhooksModule } from 'messaging-webhooks/nest'
import { adapterCases, type AdapterOptions, type StartedAdapter } from '../http/adapters/cases.ts'
import { watched } from '../http/adapters/watched.ts'
import { close, createApp, listen, moduleWith, PLATFORMS } from './apps.ts'

function starting(platform: () => ExpressAdapter | FastifyAdapter) {
  return async (options: AdapterOptions): Promise<StartedAdapter> => {
    const webhooks = WebhooksModule.forRoot({ ...options, status: '/webhooks/status', closeDeadlineMs: 100 })
    const app = await createApp(platform(), moduleWith({ imports: [webhooks] }))
    const observed = watched(app.get<Receiver>(getReceiverToken()))
    const url = await listen(app)
    return { url: `${url}webhooks/status`, observed, close: () => close(app) }
  }
}

adapterCases('NestJS on Express', {
  start: starting(PLATFORMS.Express),
  parser: {
    // Anything added to the app runs later; to run before, it must be registered before Nest starts.
    start: starting(() => new ExpressAdapter(express().use(express.json()))),
    code: 'body_already_parsed',
    says: 'before express.json()',
  },
})

adapterCases('NestJS on Fastify', {
  start: starting(PLATFORMS.Fastify),
  parser: {
    start: starting(() => {
      const adapter = PLATFORMS.Fastify()
      adapter
        .getInstance()
        .addHook('onRequest', (request, _reply, done) => void request.raw.resume().once('end', () => done()))
      return adapter
    }),
    code: 'body_already_read',
    says: 'Mount the receiver before anything that reads the body.',
  },
})
