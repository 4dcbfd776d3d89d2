/**
 * The receiver as a NestJS module, for Express and Fastify. Mounts the URLs before every body parser and dispatches events to
 * methods of providers.
 *
 * @module messaging-webhooks/nest
 */
export { WebhooksModule } from './module.ts'
export {
  createOnWebhook,
  getReceiverToken,
  InjectReceiver,
  OnWebhook,
  type OnWebhookDecorator,
  type OnWebhookOptions,
} from './handlers.ts'
export type { CallbackPath, WebhooksModuleAsyncOptions, WebhooksModuleOptions, WebhooksPaths } from './options.ts'
