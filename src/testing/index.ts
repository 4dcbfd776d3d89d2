/** The public surface of `messaging-webhooks/testing`: play the service in your own tests. */
export { callbackFor, type CallbackEvent } from './callback-for.ts'
export { callback } from './callbacks.ts'
export { deliver, type App, type Delivered, type DeliverOptions } from './deliver.ts'
export { fakeClock, type FakeClock } from './fake-clock.ts'
export { signCallback } from './sign.ts'
export { waitFor } from './wait-for.ts'
