/** `client.resend`: sends a message again after a transient failure, as the contract recommends, and only once per failure. */
import { z } from 'zod'
import { checkOptions, functionLike, numberFrom, wholeNumberFrom, type Given } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, type Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/values.ts'
import { MessagingWebhooksError, OptionsError, RetryLater } from '../public/errors.ts'
import type { FailedEvent, SentDetails } from '../public/events.ts'
import { checkMessage, toEachOnce, type Message, type Outgoing } from './message.ts'
import type { Recording } from './recording.ts'
import { SendError } from './send-error.ts'
import type { ResolvedOptions, SendOptions } from './options.ts'
import type { Sent } from './sent.ts'

/** The text of the new message, and the fields to change. */
export type ResentMessage<M = unknown> = Partial<Omit<Message<M>, 'message' | 'reference'>> & Pick<Message, 'message'>

type Compose<M> = (
  event: FailedEvent<M>,
) => string | ResentMessage<M> | undefined | Promise<string | ResentMessage<M> | undefined>

const resendOptions = {
  /**
   * Returns the text, or a message, or undefined to send nothing. Only you have stored the text. The message's other fields default to those of `event.sent`: `to`, `from`,
   * `channel`, `campaign`, `type`, `meta`, `withinMs` and `notAfter`. A text alone does not
   * resend airtime, which needs its `extra`. Called just before the message is sent.
   */
  compose: functionLike,
  /** Maximum number of sends of a message, from 1 to 10. The first counts. Default: 2. */
  attempts: wholeNumberFrom(1, 10).default(2),
  /**
   * Milliseconds after the first failure. Doubles after each. Later reports of the message wait as long. Default: 60,000.
   */
  delayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(60_000),
}

const optionsSchema = z.strictObject(resendOptions)

/** Options of `client.resend`. */
export interface ResendOptions<M = unknown> extends Given<typeof resendOptions, { readonly compose: Compose<M> }> {}

/** A handler of `message.failed`. */
export type ResendHandler<M = unknown> = (
  event: FailedEvent<M>,
  context: { readonly signal: AbortSignal },
) => Promise<void>

export function createResend(
  recording: Recording | undefined,
  { clock, channels }: Pick<ResolvedOptions, 'clock' | 'channels'>,
  send: (outgoing: Outgoing, options: SendOptions) => Promise<Sent>,
) {
  return <M>(options: ResendOptions<M>): ResendHandler<M> => {
    const { attempts, delayMs } = checkOptions(optionsSchema, options, 'resend')
    if (recording === undefined) throw new OptionsError('resend requires the option receiver of createClient.')
    const { receiver, one } = recording
    return async (event, { signal }) => {
      const { messageId, sent, project, failure } = event
      if (sent === undefined) return
      const { attempt = 1 } = sent
      if (!failure.resend || sent.type === 'transactional' || attempt >= attempts) return
      const waitMs = Math.min(delayMs * 2 ** (attempt - 1), LONGEST_TIMER_MS)
      if (!isInTime(event, sent, clock, waitMs)) return
      const state = await receiver.messageState(messageId, project === undefined ? {} : { project })
      // The service or a carrier may have retried.
      if (state !== undefined && !isStillFailed(state)) return
      const given = await options.compose(event)
      // The fields of an airtime send, except its text, are not stored.
      if (given === undefined || (typeof given === 'string' && sent.channel === channels.airtime)) return
      const message = withDefaults(sent, typeof given === 'string' ? { message: given } : given)
      const outgoing = toEachOnce(checkMessage('send', message, { channel: 'sms' }))
      try {
        await one(outgoing, () => send(outgoing, { signal }), { project, resendOf: messageId })
      } catch (error) {
        if (!isOver(error)) throw error
      }
    }
  }
}

/**
 * Whether the message is still useful when it is due to be sent. Throws a `RetryLater` before that time, so that the wait holds
 * no slot.
 */
function isInTime({ receivedAt }: FailedEvent, { notAfter }: SentDetails, clock: Clock, delayMs: number): boolean {
  const nowMs = clock.now()
  const restMs = Math.min(receivedAt.getTime() + delayMs - nowMs, delayMs)
  if (notAfter !== undefined && notAfter.getTime() < nowMs + Math.max(0, restMs)) return false
  if (restMs >= 1) throw new RetryLater(restMs)
  return true
}

type State = NonNullable<Awaited<ReturnType<Recording['receiver']['messageState']>>>

function isStillFailed({ failure, reports }: State): boolean {
  return failure?.resend === true && reports.every(({ type }) => type === 'message.failed')
}

/** The new message has as much time until it is overdue as the first. */
function withDefaults(sent: SentDetails, given: ResentMessage): ResentMessage & Message {
  const { to = '', from, channel, campaign, type, meta, sentAt, scheduledFor = sentAt, overdueAt, notAfter } = sent
  const fromMs = Math.max(sentAt.getTime(), scheduledFor.getTime())
  return {
    to,
    ...(from !== undefined && { from }),
    ...(channel !== undefined && { channel }),
    ...(campaign !== undefined && { campaign }),
    // `unknown` means that no answer named the type.
    ...(type !== undefined && type !== 'unknown' && { type }),
    withinMs: Math.max(1, overdueAt.getTime() - fromMs),
    ...(meta !== undefined && { meta }),
    ...(notAfter !== undefined && { notAfter }),
    ...defined(given),
    message: given.message,
  }
}

/** True if the send was started before, its result is unknown, or the service does not support the number. */
function isOver(error: unknown): boolean {
  if (error instanceof SendError)
    return (error.mayBeSent && error.code !== 'unrecorded') || error.code === 'unsupported_number'
  return error instanceof MessagingWebhooksError && error.code === 'send_repeated'
}
