/**
 * Act as the service in your own tests.
 *
 * @module messaging-webhooks/testing
 */
import '../runtime/supported-node.ts'
export { callback, callbackFor, type CallbackEvent, type CallbackFields } from './callbacks.ts'
export type { ChatAppFields, ChatAppStatuses, SmsDeliveryFields } from './callbacks.ts'
export { deliver, type Delivered, type DeliverOptions } from './deliver.ts'
export { fakeClock, type FakeClock } from './fake-clock.ts'
export type { App } from './deliver.ts'
export { signCallback } from './sign.ts'
export { waitFor } from './wait-for.ts'
