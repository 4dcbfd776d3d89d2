/**
 * Play the service in your own tests.
 *
 * @module messaging-webhooks/testing
 */
export { callbackFor, type CallbackEvent, type CallbackFields } from './callback-for.ts'
export type { ChatAppFields, ChatAppStatuses, SmsDeliveryFields } from './callback-fields.ts'
export { callback } from './callbacks.ts'
export { deliver, type Delivered, type DeliverOptions } from './deliver.ts'
export { fakeClock, type FakeClock } from './fake-clock.ts'
export type { App } from './own-server.ts'
export { signCallback } from './sign.ts'
export { waitFor } from './wait-for.ts'
