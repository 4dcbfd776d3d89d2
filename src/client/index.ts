/**
 * A client of the service's send endpoint. Requires only `fetch`, so it runs on Node, Bun, Deno and Workers, and loads no code
 * of the receiver.
 *
 * @module messaging-webhooks/client
 */
export { createClient, type Client } from './client.ts'
export type { FetchFunction } from './exchange.ts'
export type { Airtime, Message, OtpMessage, PremiumMessage } from './message.ts'
export type {
  ApiKey,
  ClientChannels,
  ClientOptions,
  ClientRetryOptions,
  SendAllOptions,
  SendOptions,
} from './options.ts'
export type { ResendHandler, ResendOptions, ResentMessage } from './resend.ts'
export { SendError, type Envelope } from './send-error.ts'
export type { NumberOutcome, SendingAll, SendTotals, SentAll } from './send-all.ts'
export type { SendRecorder } from '../public/intention.ts'
export type {
  AcceptedCode,
  AcceptedRecipient,
  Recipient,
  RefusedCode,
  RefusedRecipient,
  SendType,
  Sent,
  SentMessage,
  UnknownRecipient,
} from './sent.ts'
