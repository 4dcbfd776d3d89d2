/** Wires the client together: one send with its retries, and the calls that lead to it. */
import { retryDelayMs } from '../runtime/backoff.ts'
import { pause } from '../runtime/clock.ts'
import { OptionsError } from '../public/errors.ts'
import { readAnswer, unreadable, type Refusal } from './answer.ts'
import { exchange, type Exchanged } from './exchange.ts'
import { liveKey } from './live-key.ts'
import {
  checkMessage,
  recipientsOf,
  type Airtime,
  type Message,
  type Outgoing,
  type OtpMessage,
  type PremiumMessage,
  type SendCall,
} from './message.ts'
import { resolveClientOptions, type ClientOptions } from './options.ts'
import { createRecording } from './recording.ts'
import { buildRequest } from './request.ts'
import { createResend, type ResendHandler, type ResendOptions } from './resend.ts'
import { asSendError, maskOf, SendError } from './send-error.ts'
import { checkSendAll, checkSendOptions, type SendAllOptions, type SendOptions } from './send-options.ts'
import { sendingAll, type BatchEnd } from './send-all.ts'
import type { SendingAll } from './sent-all.ts'
import type { Sent } from './sent.ts'

/**
 * Sends messages. Each call but `sendAll` rejects with a `SendError` where no recipient was accepted, or with an `OptionsError` for what
 * cannot be sent. With the option `receiver`, each send is written down before its request, and it rejects as `receiver.intend` does,
 * too: then nothing was sent; and with a `SendError` (`unrecorded`) where the answer could not be written down.
 */
export interface Client<M = unknown> {
  /** Sends a text to one number or several, in one request. Contract, service.md#send-a-message. */
  send(message: Message<M>, options?: SendOptions): Promise<Sent>
  /**
   * Sends a one-time password: the same, with `type` `transactional`, which the service routes with priority. It makes, keeps and checks no
   * code. Contract, service.md#what-the-service-does.
   */
  otp(message: OtpMessage<M>, options?: SendOptions): Promise<Sent>
  /**
   * Sends premium SMS on demand, over the channel that the option `channels` names. How its reports name their message is not shown: no
   * end of it is awaited, unless the receiver has the option `readReport`, which reads them.
   */
  premium(message: PremiumMessage<M>, options?: SendOptions): Promise<Sent>
  /** Sends premium SMS to subscribers, likewise. */
  premiumSubscription(message: PremiumMessage<M>, options?: SendOptions): Promise<Sent>
  /** Sends airtime, likewise; its answer has another wrapper. */
  airtime(airtime: Airtime<M>, options?: SendOptions): Promise<Sent>
  /**
   * Sends one text to many numbers, to `batch` (100) of them in a request, `concurrency` (4) requests at once. Await it, or iterate it: it
   * says of each number what became of it, and never rejects for what a request meets. No number is sent to twice; with `receiver`, not by
   * another list with the same `reference` either. It stops where no later request could do better, or when `signal` is aborted:
   * requests that are under way are waited for. Throws an `OptionsError`, and nothing else.
   */
  sendAll(message: Message<M>, options?: SendAllOptions): SendingAll
  /**
   * Makes a handler for `message.failed`; it needs the option `receiver`. It sends again what the contract recommends to
   * (`failure.resend`), where the receiver knows the send (`event.sent`): never a transactional send, which the service has tried again
   * itself; nothing after `notAfter`, nor what has had another report meanwhile. The new send is written down before it is made, under a
   * reference made of the message's id; so it is made once, however often the event comes, and whatever crashes.
   * `event.sent.resendOf` of its reports is the id before. The handler rejects where surely nothing was sent, so that the event is tried
   * again. Throws an `OptionsError` for an option that cannot work. Contract, service.md#cross-channel-mapping.
   */
  resend(options: ResendOptions<M>): ResendHandler<M>
}

/**
 * Makes a client of the send endpoint. It opens nothing until the first send. Only what did not reach the service is sent again by itself:
 * the contract shows no key by which the service would know a repetition. `M` is the type of `meta`: that of the receiver's
 * `schemas.meta`. Throws an `OptionsError` for an option that cannot work.
 */
export function createClient<M = unknown>(options: ClientOptions<M>): Client<M> {
  const { retry, logger, clock, channels, receiver, ...settings } = resolveClientOptions(options)
  const recording =
    receiver &&
    createRecording({
      ...settings,
      receiver,
      clock,
      premium: [channels.premium, channels.premiumSubscription],
    })

  async function sendOnce(outgoing: Outgoing, { via = settings.via, signal }: SendOptions): Promise<Sent> {
    const recipients = recipientsOf(outgoing).length
    function goOnUnlessAborted(attempts: number): void {
      if (signal?.aborted === true) throw new SendError('aborted', { mayBeSent: false, attempts, recipients })
    }
    for (let attempts = 1; ; attempts += 1) {
      goOnUnlessAborted(attempts - 1)
      const apiKey = await liveKey(settings.apiKey, {
        clock,
        timeoutMs: settings.timeoutMs,
        signal,
        attempts,
        recipients,
      })
      // What is aborted in the turn of the call is so before anything listens.
      goOnUnlessAborted(attempts - 1)
      const { url, init } = buildRequest(outgoing, { ...settings, apiKey, via })
      const sentAtMs = clock.now()
      const exchanged = await exchange(url, init, { ...settings, clock, signal })
      const made = { attempts, recipients, sentAt: new Date(sentAtMs) }
      if (exchanged.kind === 'unreached' && attempts < retry.attempts) {
        const delayMs = retryDelayMs(attempts, retry)
        logger.warn(
          { code: 'send_retried', reason: exchanged.reason, attempt: attempts, delayMs },
          `A send did not reach the service; it is tried again in ${delayMs} ms.`,
        )
        await pause(clock, delayMs, signal)
        continue
      }
      const read = readExchanged(exchanged, outgoing, sentAtMs)
      if ('sent' in read) return checkSchedule(read.sent)
      const { code, ...failure } = read
      const mask = maskOf({ apiKey, numbers: recipientsOf(outgoing), text: outgoing.message })
      throw new SendError(code, {
        ...made,
        ...failure,
        said: failure.said === undefined ? undefined : mask(failure.said),
        errors: failure.errors === undefined ? undefined : maskedErrors(failure.errors, mask),
      })
    }
  }

  /** How a time is written is not shown, so the service may not have understood it: then a message went out at once. */
  function checkSchedule(sent: Sent): Sent {
    const { scheduledFor, recipients } = sent
    const atOnce = recipients.filter(({ code }) => code === 11 || code === 13).length
    if (scheduledFor !== undefined && scheduledFor.getTime() > clock.now() && atOnce > 0)
      logger.warn(
        { code: 'schedule_ignored', recipients: atOnce },
        'The service accepted messages for a future time as if for now: see the option schedule.',
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
      throw new OptionsError(`${call}: ${field} needs the option receiver of createClient, which writes it down.`)
    return outgoing
  }

  async function one(call: SendCall, message: object, given: SendOptions | undefined): Promise<Sent> {
    const outgoing = checked(call, message)
    const how = checkSendOptions(call, given)
    const make = (): Promise<Sent> => sendOnce(outgoing, how)
    return recording === undefined ? make() : recording.one(outgoing, make)
  }

  async function sendBatch(outgoing: Outgoing, to: readonly string[], via: SendOptions['via']): Promise<BatchEnd> {
    const make = (numbers: readonly string[]): Promise<Sent> => sendOnce({ ...outgoing, to: numbers }, { via })
    try {
      return recording === undefined ? { to, answer: await make(to) } : await recording.each(to, outgoing, make)
    } catch (error) {
      return { to, error: asSendError(error, to.length) }
    }
  }

  return {
    send: (message, given) => one('send', message, given),
    otp: (message, given) => one('otp', message, given),
    premium: (message, given) => one('premium', message, given),
    premiumSubscription: (message, given) => one('premiumSubscription', message, given),
    airtime: (airtime, given) => one('airtime', airtime, given),
    sendAll(message, given) {
      const outgoing = checked('sendAll', message)
      const { via = settings.via, ...batches } = checkSendAll(given)
      // What cannot be written in this form is said before anything is sent.
      if (typeof settings.apiKey === 'string') buildRequest(outgoing, { ...settings, apiKey: settings.apiKey, via })
      // One name for the whole list, so that no number of it is sent to twice.
      const { reference = crypto.randomUUID(), ...others } = outgoing.recorded
      const list = { ...outgoing, recorded: { ...others, reference } }
      return sendingAll(recipientsOf(outgoing), batches, (to) => sendBatch(list, to, via))
    },
    resend: createResend({ recording, clock, airtime: channels.airtime, send: sendOnce }),
  }
}

function readExchanged(
  exchanged: Exchanged,
  outgoing: Outgoing,
  sentAtMs: number,
):
  | { readonly sent: Sent }
  | (Omit<Refusal, 'code'> & {
      readonly code: SendError['code']
      readonly reason?: string | undefined
      readonly status?: number | undefined
    }) {
  switch (exchanged.kind) {
    case 'answered': {
      const read = readAnswer(exchanged, outgoing, sentAtMs)
      return 'sent' in read ? read : { ...read, status: exchanged.status }
    }
    case 'too long':
      return { ...unreadable(exchanged.status, 'It is longer than any answer.'), status: exchanged.status }
    case 'unreached':
      return { code: 'not_sent', mayBeSent: false, reason: exchanged.reason, detail: detailOf(exchanged.reason) }
    case 'unknown':
      return { ...exchanged, code: 'unknown_outcome', mayBeSent: true, detail: detailOf(exchanged.reason) }
    case 'aborted':
      return { ...exchanged, code: 'aborted', mayBeSent: true }
  }
}

function detailOf(reason: string | undefined): string | undefined {
  return reason === undefined ? undefined : `The runtime says ${reason}.`
}

function maskedErrors(
  errors: Readonly<Record<string, readonly string[]>>,
  mask: (text: string) => string,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(errors).map(([name, texts]) => [mask(name), texts.map(mask)]))
}
