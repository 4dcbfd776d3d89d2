/** One send with the receiver as its witness: written down before it is made, and what came of it afterwards. */
import { retryDelayMs } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import { MessagingWebhooksError, OptionsError } from '../errors.ts'
import type { IntendOptions, Intention } from '../intention.ts'
import { SendError } from './send-error.ts'
import type { Sent } from './sent.ts'

/** As much of a receiver as is used. */
export interface SendRecorder {
  /** `receiver.intend`. */
  intend(send?: IntendOptions): Promise<Intention>
}

interface RecordingOptions {
  readonly receiver: SendRecorder
  readonly clock: Clock
  /** How long the receiver's store may be away after the send. */
  readonly recordWithinMs: number
}

/** While the store is away. */
const AGAIN = { attempts: Infinity, initialDelayMs: 100, maxDelayMs: 2_000 }

/**
 * Makes the send if, and only if, it was written down. Rejects as `intend` does, and then nothing was sent; with what `make` rejects
 * with; or with `unrecorded`.
 */
export async function recordedSend(
  send: IntendOptions,
  make: () => Promise<Sent>,
  options: RecordingOptions,
): Promise<Sent> {
  const intention = await options.receiver.intend(send)
  const { reference } = intention
  const answer = { ...(await made(make, intention, options)), reference }
  try {
    await persist(async () => intention.sent(answer), options)
    return answer
  } catch (cause) {
    const { sentAt, recipients } = answer
    throw new SendError('unrecorded', {
      mayBeSent: true,
      attempts: 1,
      recipients: recipients.length,
      sentAt,
      answer,
      cause,
    })
  }
}

async function made(make: () => Promise<Sent>, intention: Intention, options: RecordingOptions): Promise<Sent> {
  try {
    return await make()
  } catch (error) {
    await tellOfFailure(intention, error, options)
    throw error
  }
}

/** Where the store cannot be told either, `send.unknown` is made when the answer is overdue: better a question too many. */
async function tellOfFailure(intention: Intention, error: unknown, options: RecordingOptions): Promise<void> {
  // What is no error of ours comes from a client that is not: it may have come when all was sent.
  const mayBeSent = error instanceof SendError ? error.mayBeSent : !(error instanceof OptionsError)
  try {
    await persist(async () => (mayBeSent ? intention.unknown() : intention.notSent()), options)
  } catch {
    // The caller is to hear of the send.
  }
}

/** Again and again, for a bounded time: what the store is told may be told twice. */
async function persist<T>(work: () => Promise<T>, { clock, recordWithinMs }: RecordingOptions): Promise<T> {
  const untilMs = clock.now() + recordWithinMs
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTime(work(), untilMs - clock.now(), clock)
    } catch (error) {
      const delayMs = retryDelayMs(attempt, AGAIN)
      if (!isPassing(error) || clock.now() + delayMs >= untilMs) throw error
      await new Promise<void>((resolve) => void clock.setTimer(resolve, delayMs, true))
    }
  }
}

/** Its timer keeps a process alive that waits for nothing else; and on Workers there is no other kind. */
function inTime<T>(work: Promise<T>, timeoutMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(() => reject(new MessagingWebhooksError('store_slow')), timeoutMs, true)
    work.then(resolve, reject).finally(cancel)
  })
}

/** What another try may not meet. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof MessagingWebhooksError)) return true
  return !['options_invalid', 'receiver_closed', 'expect_unsupported', 'project_required'].includes(error.code)
}
