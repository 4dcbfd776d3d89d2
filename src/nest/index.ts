/**
 * The receiver as a NestJS module, on Express and on Fastify: its URLs are mounted before every body parser, and methods of
 * providers are its handlers.
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
} from './decorators.ts'
export type { CallbackPath, WebhooksModuleAsyncOptions, WebhooksModuleOptions, WebhooksPaths } from './options.ts'
