/** `resend`: a message that failed for now is sent again, as the contract recommends, and never twice for one failure. */
import { z } from 'zod'
import { checkOptions, functionLike, numberFrom, wholeNumberFrom } from '../check-options.ts'
import { LONGEST_TIMER_MS, type Clock } from '../clock.ts'
import { defined } from '../defined.ts'
import { MessagingWebhooksError, RetryLater } from '../errors.ts'
import type { FailedEvent, Failure, ReportType, SentDetails } from '../events.ts'
import type { RecordOptions } from '../intention.ts'
import type { Client } from './client.ts'
import { checkMessage, type Message } from './message.ts'
import { clockOf } from './options.ts'
import { recordedSend, type SendRecorder } from './recording.ts'
import { SendError } from './send-error.ts'
import { senderShape, type SenderOptions } from './sender.ts'

/** As much of a receiver as is used. */
export interface ResendReceiver extends SendRecorder {
  /** `receiver.messageState`. */
  messageState(
    messageId: string,
    options?: { readonly project?: string | undefined },
  ): Promise<
    | {
        readonly type: ReportType
        readonly failure?: Failure
        readonly reports: readonly { readonly type: ReportType }[]
      }
    | undefined
  >
}

/** What is sent again: its text, and what shall be otherwise than it was. */
export type ResentMessage = Partial<Omit<Message, 'message'>> &
  Pick<Message, 'message'> &
  Pick<RecordOptions, 'meta' | 'within' | 'notAfter'>

/** What `resend` takes. */
export interface ResendOptions extends Pick<SenderOptions, 'recordWithinMs' | 'clock'> {
  /**
   * The text, which nobody has kept but you; or a message, of which all but the text is by default as it was: `to`, `channel`, `campaign`,
   * `type`, `meta`, `within` and `notAfter` of `event.sent`. Undefined: it is not sent again; nor is airtime for a text alone, for its
   * `extra` is needed.
   */
  readonly text: (
    event: FailedEvent,
  ) => string | ResentMessage | undefined | Promise<string | ResentMessage | undefined>
  /** Sends of one message in all, the first included. From 1 to 10. Default: 2. */
  readonly attempts?: number | undefined
  /** How long to wait after the failure. Later reports of the message wait as long. Milliseconds. Default: 0. */
  readonly delayMs?: number | undefined
  /** Asked when it is about to be sent again; false: it is not. */
  readonly when?: ((event: FailedEvent) => boolean | Promise<boolean>) | undefined
}

const MOST_ATTEMPTS = 10
/** What such a send has beside its text, nobody keeps. */
const AIRTIME = 'airtime'

const optionsSchema = z.strictObject({
  text: functionLike,
  attempts: wholeNumberFrom(1, MOST_ATTEMPTS).default(2),
  delayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(0),
  when: functionLike.optional(),
  recordWithinMs: senderShape.recordWithinMs,
  clock: senderShape.clock,
})

/**
 * Makes a handler for `message.failed`. It sends again what the contract recommends to (`failure.resend`), where the receiver knows the
 * send (`event.sent`): never a transactional send, which the service has tried again itself; nothing after `notAfter`, nor what has
 * had another report meanwhile. The new send is written down before it is made, under a reference made of the message's id; so it
 * is made once, however often the event comes, and whatever crashes. `event.sent.resendOf` of its reports is the id before. Rejects where
 * surely nothing was sent, so that the event is tried again. Throws an `OptionsError` for an option that cannot work.
 * Contract, service.md#cross-channel-mapping.
 */
export function resend(
  receiver: ResendReceiver,
  client: Client,
  options: ResendOptions,
): (event: FailedEvent, context: { readonly signal: AbortSignal }) => Promise<void> {
  const { attempts, delayMs, recordWithinMs } = checkOptions(optionsSchema, options, 'resend')
  const { text, when } = options
  const clock = clockOf(options.clock)

  return async (event, { signal }) => {
    const { messageId, sent, project, failure } = event
    if (sent === undefined || !isToBeSentAgain(sent, failure, attempts)) return
    if (!isInTime(event, sent, { clock, delayMs }) || !(await isStillFailed(receiver, event))) return
    if (when !== undefined && !(await when(event))) return
    const given = await text(event)
    if (given === undefined || (typeof given === 'string' && sent.channel === AIRTIME)) return
    const { meta, within, notAfter, ...message } = withDefaults(
      sent,
      typeof given === 'string' ? { message: given } : given,
    )
    const { to, type, channel, campaign, scheduledFor } = checkMessage('send', message, { channel: 'sms' })
    const about = { to, type, channel, campaign, scheduledFor }
    try {
      await recordedSend(
        { ...about, meta, within, notAfter, project, resendOf: messageId },
        () => client.send(message, { signal }),
        { receiver, clock, recordWithinMs },
      )
    } catch (error) {
      if (!isOver(error)) throw error
    }
  }
}

function isToBeSentAgain(
  { type, attempt = 1 }: SentDetails,
  { resend: isRecommended }: Failure,
  attempts: number,
): boolean {
  return isRecommended && type !== 'transactional' && attempt < attempts
}

/**
 * Whether it is still of use, at the time at which it would be sent; throws a `RetryLater` where that is yet to come, so that nothing is
 * held meanwhile.
 */
function isInTime(
  { receivedAt }: FailedEvent,
  { notAfter }: SentDetails,
  { clock, delayMs }: { readonly clock: Clock; readonly delayMs: number },
): boolean {
  const nowMs = clock.now()
  const restMs = Math.min(receivedAt.getTime() + delayMs - nowMs, delayMs)
  if (notAfter !== undefined && notAfter.getTime() < nowMs + Math.max(0, restMs)) return false
  if (restMs >= 1) throw new RetryLater(restMs)
  return true
}

/** Whether no report came since that says otherwise: the service, or a carrier, may have tried again itself. */
async function isStillFailed(receiver: ResendReceiver, { messageId, project }: FailedEvent): Promise<boolean> {
  const state = await receiver.messageState(messageId, project === undefined ? {} : { project })
  if (state === undefined) return true
  return state.failure?.resend === true && state.reports.every(({ type }) => type === 'message.failed')
}

/** How long the end of the first one had counts for the next one, too. */
function withDefaults(sent: SentDetails, given: ResentMessage): ResentMessage & Message {
  const { to = '', channel, campaign, type, meta, sentAt, scheduledFor = sentAt, overdueAt, notAfter } = sent
  const fromMs = Math.max(sentAt.getTime(), scheduledFor.getTime())
  return {
    to,
    ...(channel !== undefined && { channel }),
    ...(campaign !== undefined && { campaign }),
    // What no answer said is no type.
    ...(type !== undefined && type !== 'unknown' && { type }),
    within: Math.max(1, overdueAt.getTime() - fromMs),
    ...(meta !== undefined && { meta }),
    ...(notAfter !== undefined && { notAfter }),
    ...defined(given),
    message: given.message,
  }
}

/** It was begun before, or is told as unknown: neither is a reason to send it again. */
function isOver(error: unknown): boolean {
  if (error instanceof SendError) return error.mayBeSent && error.code !== 'unrecorded'
  return error instanceof MessagingWebhooksError && error.code === 'send_repeated'
}
