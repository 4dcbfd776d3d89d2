/** The public surface of `messaging-webhooks/testing`: play the service in your own tests. */
export { callback } from './callbacks.ts'
export { signCallback } from './sign.ts'
