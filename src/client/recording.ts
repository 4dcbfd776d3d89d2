/** Records sends with the receiver: each send before its request, and its result afterwards. */
import { retryDelayMs, pause, withDeadline } from '../runtime/clock.ts'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import type { IntendEachOptions, IntendOptions, Intention, SendRecorder } from '../public/intention.ts'
import type { Outgoing } from './message.ts'
import type { ResolvedOptions } from './options.ts'
import type { BatchEnd } from './send-all.ts'
import { asSendError, SendError } from './send-error.ts'
import type { Sent } from './sent.ts'

export type Recording = ReturnType<typeof createRecording>

/** The message to send again. */
type Resending = Pick<IntendOptions, 'resendOf' | 'project'>

/** As the receiver has it for SMS. The messages of these channels go through carriers as well. */
const CARRIER_WITHIN_MS = 86_400_000

/** Backoff while the store is unavailable. */
const AGAIN = { attempts: Infinity, initialDelayMs: 100, maxDelayMs: 2_000 }

export function createRecording(
  receiver: SendRecorder,
  { clock, project, recordWithinMs, answerWithinMs, channels }: ResolvedOptions,
) {
  function about({ from, type, channel, campaign, scheduledFor, recorded }: Outgoing): IntendEachOptions {
    const premium = channel === channels.premium || channel === channels.premiumSubscription
    // The receiver does not know the names of this client, and would take one for that of a chat-app.
    const withinMs = premium || channel === channels.airtime ? CARRIER_WITHIN_MS : undefined
    return { from, type, channel, campaign, scheduledFor, withinMs, ...recorded, premium, project, answerWithinMs }
  }

  async function witnessed(intention: Intention, make: () => Promise<Sent>): Promise<Sent> {
    const { reference } = intention
    const { answer, refusal } = await madeOf(intention, make)
    const sent = { ...answer, reference }
    try {
      await persist(async () => intention.sent(sent))
    } catch (cause) {
      if (refusal !== undefined) throw refusal
      const { sentAt, recipients } = sent
      const made = { mayBeSent: true, attempts: 1, recipients: recipients.length, sentAt }
      throw new SendError('unrecorded', { ...made, answer: sent, cause })
    }
    if (refusal !== undefined) throw refusal
    return sent
  }

  /** An answer that refuses every recipient is an error, but is recorded as well. */
  async function madeOf(
    intention: Intention,
    make: () => Promise<Sent>,
  ): Promise<{ readonly answer: Sent; readonly refusal?: SendError }> {
    try {
      return { answer: await make() }
    } catch (error) {
      if (error instanceof SendError && error.answer !== undefined) return { answer: error.answer, refusal: error }
      await reportFailure(intention, error)
      throw error
    }
  }

  /** If recording fails, `send.unknown` follows once the answer is overdue: a false alarm is better than none. */
  async function reportFailure(intention: Intention, error: unknown): Promise<void> {
    // An unexpected error may follow a request that was sent.
    const mayBeSent = error instanceof SendError ? error.mayBeSent : !(error instanceof OptionsError)
    try {
      await persist(async () => (mayBeSent ? intention.unknown() : intention.notSent()))
    } catch {
      // The caller gets the error of the send instead.
    }
  }

  /** Retries for a limited time. Recording is idempotent. */
  async function persist<T>(work: () => Promise<T>): Promise<T> {
    const untilMs = clock.now() + recordWithinMs
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await withDeadline(clock, untilMs - clock.now(), work(), storeSlow, true)
      } catch (error) {
        const delayMs = retryDelayMs(attempt, AGAIN)
        if (!isPassing(error) || clock.now() + delayMs >= untilMs) throw error
        await pause(clock, delayMs)
      }
    }
  }

  return {
    receiver,
    /**
     * Makes the send only after it has been recorded. Rejects like `intend` if nothing was sent, with the error of `make`, or
     * with `unrecorded`.
     */
    async one(outgoing: Outgoing, make: () => Promise<Sent>, resending?: Resending): Promise<Sent> {
      return witnessed(await receiver.sends.intend({ ...about(outgoing), to: outgoing.to, ...resending }), make)
    },
    /** Like `one`, for the numbers that were not sent to before. Rejects only like `intendEach`. */
    async each(
      to: readonly string[],
      outgoing: Outgoing,
      make: (to: readonly string[]) => Promise<Sent>,
    ): Promise<BatchEnd> {
      const intention = await receiver.sends.intendEach(to, about(outgoing))
      const left = intention.to
      if (left.length === 0) return { to: left }
      try {
        return { to: left, answer: await witnessed(intention, () => make(left)) }
      } catch (error) {
        return { to: left, error: asSendError(error, left.length) }
      }
    },
  }
}

function storeSlow(): never {
  throw new MessagingWebhooksError('store_slow')
}

/** Whether a retry may succeed. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof MessagingWebhooksError)) return true
  return !['options_invalid', 'receiver_closed', 'project_required'].includes(error.code)
}
