/** Wires the client together: one send with its retries, and the calls that lead to it. */
import { retryDelayMs } from '../backoff.ts'
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
} from './message.ts'
import { resolveClientOptions, type ClientOptions } from './options.ts'
import { buildRequest } from './request.ts'
import { maskOf, SendError } from './send-error.ts'
import { checkSendAll, checkSendOptions, type SendAllOptions, type SendOptions } from './send-options.ts'
import { sendInBatches } from './send-all.ts'
import type { SentAll } from './sent-all.ts'
import type { Sent } from './sent.ts'

/** Sends messages. Each call but `sendAll` rejects with a `SendError`, or with an `OptionsError` for what cannot be sent. */
export interface Client {
  /** Sends a text to one number or several, in one request. Contract, service.md#send-a-message. */
  send(message: Message, options?: SendOptions): Promise<Sent>
  /**
   * Sends a one-time password: the same, with `type` `transactional`, which the service routes with priority. It makes, keeps and checks no
   * code. Contract, service.md#what-the-service-does.
   */
  otp(message: OtpMessage, options?: SendOptions): Promise<Sent>
  /** Sends premium SMS on demand, over the channel that the option `channels` names. */
  premium(message: PremiumMessage, options?: SendOptions): Promise<Sent>
  /** Sends premium SMS to subscribers, likewise. */
  premiumSubscription(message: PremiumMessage, options?: SendOptions): Promise<Sent>
  /** Sends airtime, likewise; its answer has another wrapper. */
  airtime(airtime: Airtime, options?: SendOptions): Promise<Sent>
  /**
   * Sends one text to many numbers, in batches of `batch` (100), `concurrency` (4) at once. It never rejects for what a batch meets, but says
   * what became of each number. It stops where no later batch could do better, or when `signal` is aborted: batches that are under way
   * are waited for. Rejects with an `OptionsError` alone.
   */
  sendAll(message: Message, options?: SendAllOptions): Promise<SentAll>
}

/**
 * Makes a client of the send endpoint. It opens nothing until the first send. Only what did not reach the service is sent again by itself:
 * the contract has no key by which the service would know a repetition. Throws an `OptionsError` for an option that cannot work.
 */
export function createClient(options: ClientOptions): Client {
  const { retry, logger, clock, channels, ...settings } = resolveClientOptions(options)

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
        await pause(delayMs, signal)
        continue
      }
      const read = readExchanged(exchanged, outgoing, sentAtMs)
      if ('sent' in read) return checkSchedule(read.sent)
      const { code, ...failure } = read
      const mask = maskOf([apiKey, ...secretsOf(outgoing)])
      throw new SendError(code, {
        ...made,
        ...failure,
        said: failure.said === undefined ? undefined : mask(failure.said),
        errors: failure.errors === undefined ? undefined : maskedErrors(failure.errors, mask),
      })
    }
  }

  /** Resolves when the time has passed, or at once with the signal. */
  function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      function end(): void {
        cancel()
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const cancel = clock.setTimer(end, delayMs, true)
      signal?.addEventListener('abort', end, { once: true })
      if (signal?.aborted === true) end()
    })
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

  return {
    send: async (message, given) =>
      sendOnce(checkMessage('send', message, { channel: 'sms' }), checkSendOptions('send', given)),
    otp: async (message, given) =>
      sendOnce(checkMessage('otp', message, { channel: 'sms', type: 'transactional' }), checkSendOptions('otp', given)),
    premium: async (message, given) =>
      sendOnce(checkMessage('premium', message, { channel: channels.premium }), checkSendOptions('premium', given)),
    premiumSubscription: async (message, given) =>
      sendOnce(
        checkMessage('premiumSubscription', message, { channel: channels.premiumSubscription }),
        checkSendOptions('premiumSubscription', given),
      ),
    airtime: async (airtime, given) =>
      sendOnce(checkMessage('airtime', airtime, { channel: channels.airtime }), checkSendOptions('airtime', given)),
    async sendAll(message, given) {
      const outgoing = checkMessage('sendAll', message, { channel: 'sms' })
      const { via, ...batches } = checkSendAll(given)
      // What cannot be written in this form is said before anything is sent.
      if (typeof settings.apiKey === 'string')
        buildRequest(outgoing, { ...settings, apiKey: settings.apiKey, via: via ?? settings.via })
      return sendInBatches(recipientsOf(outgoing), batches, async (to) => sendOnce({ ...outgoing, to }, { via }))
    },
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

/** Numbers with and without their plus, and the text. */
function secretsOf(outgoing: Outgoing): readonly string[] {
  const numbers = recipientsOf(outgoing).flatMap((to) => [to, to.replace(/^\+/, '')])
  return outgoing.message === undefined ? numbers : [...numbers, outgoing.message]
}

function maskedErrors(
  errors: Readonly<Record<string, readonly string[]>>,
  mask: (text: string) => string,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(errors).map(([name, texts]) => [mask(name), texts.map(mask)]))
}
