/**
 * A client of the service's send endpoint. Requires only `fetch`, so it runs on Node, Bun, Deno and Workers, and loads no code
 * of the receiver.
 *
 * @module messaging-webhooks/client
 */
import '../runtime/supported-node.ts'
import { checkOptions } from '../runtime/check-options.ts'

import { pause, retryDelayMs } from '../runtime/clock.ts'
import { recordOf } from '../runtime/values.ts'
import { OptionsError } from '../public/errors.ts'
import { readAnswer, unreadable, type NotAccepted } from './answer.ts'
import { exchange, type Exchanged } from './exchange.ts'
import {
  liveKey,
  buildRequest,
  checkMessage,
  recipientsOf,
  toEachOnce,
  type Airtime,
  type Message,
  type Outgoing,
  type OtpMessage,
  type PremiumMessage,
  type SendCall,
} from './message.ts'
import {
  likelyBaseUrl,
  resolveClientOptions,
  sendAllSchema,
  sendSchema,
  type ClientOptions,
  type SendAllOptions,
  type SendOptions,
} from './options.ts'
import { createRecording } from './recording.ts'
import { createResend, type ResendHandler, type ResendOptions } from './resend.ts'
import { asSendError, maskOf, SendError } from './send-error.ts'
import { sendingAll, type BatchEnd, type SendingAll } from './send-all.ts'
import type { Sent } from './sent.ts'

export type { Airtime, Message, OtpMessage, PremiumMessage } from './message.ts'
export type {
  ApiKey,
  ClientChannels,
  ClientOptions,
  ClientRetryOptions,
  FetchFunction,
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

/**
 * Sends messages. Each call except `sendAll` rejects with a `SendError` if no recipient was accepted, or with an `OptionsError`
 * for an invalid message. With the option `receiver`, the client records each send before its request. A call then also rejects
 * like `receiver.sends.intend` if nothing was sent, or with a `SendError` (`unrecorded`) if the answer could not be recorded.
 */
export interface Client<M = unknown> {
  /** Sends a text to one or more numbers in one request. Contract, service.md#send-a-message. */
  send(message: Message<M>, options?: SendOptions): Promise<Sent>
  /**
   * Sends a one-time password with `type` `transactional`. The service gives it priority. Does not create, store or check the
   * code. Contract, service.md#what-the-service-does.
   */
  otp(message: OtpMessage<M>, options?: SendOptions): Promise<Sent>
  /**
   * Sends premium SMS on demand. Uses the channel named in the option `channels`. The contract does not show how its reports
   * name their message, so no final report is expected unless the receiver's option `readReport` reads them.
   */
  premium(message: PremiumMessage<M>, options?: SendOptions): Promise<Sent>
  /** Sends premium SMS to subscribers. Otherwise like `premium`. */
  premiumSubscription(message: PremiumMessage<M>, options?: SendOptions): Promise<Sent>
  /** Sends airtime. Otherwise like `premium`, with a different wrapper in the answer. */
  airtime(airtime: Airtime<M>, options?: SendOptions): Promise<Sent>
  /**
   * Sends one text to many numbers. `batch` (100) per request, `concurrency` (4) requests at once. Await or iterate it for the
   * outcome of each number; a failed request does not reject it. Sends to no number twice; with `receiver`, not even in another
   * list with the same `reference`. Stops on an error that every later request would meet as well, or when `signal` is aborted,
   * after pending requests. Throws only an `OptionsError`.
   */
  sendAll(message: Message<M>, options?: SendAllOptions): SendingAll
  /**
   * Creates a handler for `message.failed` that sends again. Requires the option `receiver`. It sends a message again if the contract recommends
   * it (`failure.resend`) and the receiver knows the send (`event.sent`). It never resends a transactional send, which the
   * service retries itself, a message after `notAfter`, or one with a different report since. Each new send is recorded first,
   * under a reference derived from the message id, so it is made once even if the event repeats or a process crashes.
   * `event.sent.resendOf` of its reports is the previous id. The handler rejects only if nothing was sent, so that the event is
   * retried. Throws an `OptionsError` for an invalid option. Contract, service.md#cross-channel-mapping.
   */
  resend(options: ResendOptions<M>): ResendHandler<M>
}

/**
 * Creates a client of the send endpoint. Opens no connection before the first send. Retries only requests that did not reach
 * the service, because the contract shows no idempotency key. `M` is the type of `meta`: that of the receiver's `schemas.meta`.
 * Throws an `OptionsError` for an invalid option.
 */
export function createClient<M = unknown>(options: ClientOptions<M>): Client<M> {
  const settings = resolveClientOptions(options)
  const { retry, logger, clock, channels, receiver } = settings
  const recording = receiver && createRecording(receiver, settings)
  const likely = likelyBaseUrl(settings.baseUrl)
  if (likely !== undefined)
    logger.warn(
      { code: 'base_url_unusual', likely },
      `baseUrl does not end in /api/v1/messaging or /v1/messaging. Did you mean ${likely}?`,
    )

  async function sendOnce(outgoing: Outgoing, { signal }: SendOptions): Promise<Sent> {
    const recipients = recipientsOf(outgoing).length
    function goOnUnlessAborted(attempts: number): void {
      if (signal?.aborted === true) throw new SendError('aborted', { mayBeSent: false, attempts, recipients })
    }
    for (let attempts = 1; ; attempts += 1) {
      goOnUnlessAborted(attempts - 1)
      const apiKey = await liveKey(settings, signal, { mayBeSent: false, attempts: attempts - 1, recipients })
      // The signal may have fired before anything listened to it.
      goOnUnlessAborted(attempts - 1)
      const init = buildRequest(outgoing, { ...settings, apiKey })
      const sentAtMs = clock.now()
      const exchanged = await exchange(settings.baseUrl, init, { ...settings, signal })
      if (exchanged.kind === 'unreached' && attempts < retry.attempts) {
        const delayMs = retryDelayMs(attempts, retry)
        logger.warn(
          { code: 'send_retried', reason: exchanged.reason, attempt: attempts, delayMs },
          `A send did not reach the service. Retrying in ${delayMs} ms.`,
        )
        await pause(clock, delayMs, signal)
        continue
      }
      const read = readExchanged(exchanged, outgoing, sentAtMs)
      if ('sent' in read) return checkSchedule(read.sent)
      const { code, ...failure } = read
      const mask = maskOf(apiKey, recipientsOf(outgoing), outgoing.message)
      throw new SendError(code, {
        ...{ attempts, recipients, sentAt: new Date(sentAtMs), ...failure },
        said: failure.said === undefined ? undefined : mask(failure.said),
        errors: failure.errors === undefined ? undefined : maskedErrors(failure.errors, mask),
      })
    }
  }

  /** The contract does not show the format of the time. A service that ignores it accepts messages for immediate delivery. */
  function checkSchedule(sent: Sent): Sent {
    const { scheduledFor, recipients } = sent
    const atOnce = recipients.filter(({ code }) => code === 11 || code === 13).length
    if (scheduledFor !== undefined && scheduledFor.getTime() > clock.now() && atOnce > 0)
      logger.warn(
        { code: 'schedule_ignored', recipients: atOnce },
        'The service accepted scheduled messages for immediate delivery. Check the option schedule.',
      )
    return sent
  }

  const defaults = {
    send: { channel: 'sms' },
    sendAll: { channel: 'sms' },
    otp: { channel: 'sms', type: 'transactional' },
    premium: { channel: channels.premium },
    premiumSubscription: { channel: channels.premiumSubscription },
    airtime: { channel: channels.airtime },
  } as const

  function checked(call: SendCall, message: object): Outgoing {
    const outgoing = checkMessage(call, message, defaults[call])
    const [field] = Object.keys(outgoing.recorded)
    if (recording === undefined && field !== undefined)
      throw new OptionsError(`${call}: ${field} requires the option receiver of createClient, which records it.`)
    return outgoing
  }

  const one = (call: SendCall) => async (message: object, given?: SendOptions) => {
    const outgoing = toEachOnce(checked(call, message))
    const how = checkOptions(sendSchema, given, call)
    const make = (): Promise<Sent> => sendOnce(outgoing, how)
    return recording === undefined ? make() : recording.one(outgoing, make)
  }

  async function sendBatch(outgoing: Outgoing, to: readonly string[]): Promise<BatchEnd> {
    const make = (numbers: readonly string[]): Promise<Sent> => sendOnce({ ...outgoing, to: numbers }, {})
    try {
      return recording === undefined ? { to, answer: await make(to) } : await recording.each(to, outgoing, make)
    } catch (error) {
      return { to, error: asSendError(error, to.length) }
    }
  }

  return {
    ...recordOf(['send', 'otp', 'premium', 'premiumSubscription', 'airtime'], one),
    sendAll(message, given) {
      const outgoing = checked('sendAll', message)
      const batches = checkOptions(sendAllSchema, given, 'sendAll')
      // Throws before anything is sent if JSON cannot express a value.
      if (typeof settings.apiKey === 'string') buildRequest(outgoing, { ...settings, apiKey: settings.apiKey })
      // One reference for the whole list, so that it sends to no number twice.
      const { reference = crypto.randomUUID(), ...others } = outgoing.recorded
      const list = { ...outgoing, recorded: { ...others, reference } }
      return sendingAll(recipientsOf(outgoing), batches, (to) => sendBatch(list, to))
    },
    resend: createResend(recording, settings, sendOnce),
  }
}

function readExchanged(
  exchanged: Exchanged,
  outgoing: Outgoing,
  sentAtMs: number,
): { readonly sent: Sent } | NotAccepted {
  switch (exchanged.kind) {
    case 'answered': {
      const read = readAnswer(exchanged, outgoing, sentAtMs)
      return 'sent' in read ? read : { ...read, status: exchanged.status }
    }
    case 'too long':
      return { ...unreadable(exchanged.status, 'The answer is too long.'), status: exchanged.status }
    case 'unreached':
      return { code: 'not_sent', mayBeSent: false, reason: exchanged.reason, detail: detailOf(exchanged.reason) }
    case 'unknown':
      return { ...exchanged, code: 'unknown_outcome', mayBeSent: true, detail: detailOf(exchanged.reason) }
    case 'aborted':
      return { ...exchanged, code: 'aborted', mayBeSent: true }
  }
}

function detailOf(reason: string | undefined): string | undefined {
  return reason === undefined ? undefined : `The runtime reported ${reason}.`
}

function maskedErrors(
  errors: Readonly<Record<string, readonly string[]>>,
  mask: (text: string) => string,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(errors).map(([name, texts]) => [mask(name), texts.map(mask)]))
}
