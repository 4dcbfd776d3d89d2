/** One text to many numbers: batches, several at once, and an account of every number. */
import { MessagingWebhooksError } from '../errors.ts'
import { letReject } from '../promises.ts'
import { SendError } from './send-error.ts'
import type { ResolvedSendAll } from './send-options.ts'
import type { FailedBatch, RepeatedBatch, SentAll } from './sent-all.ts'
import type { Sent } from './sent.ts'

/** No later batch could do better. */
const STOPPING: ReadonlySet<SendError['code']> = new Set([
  'unauthenticated',
  'project_not_found',
  'unknown_project',
  'insufficient_balance',
  'volume_limit',
  'not_sent',
  'unrecorded',
])

type End = Sent | FailedBatch | RepeatedBatch

export async function sendInBatches(
  all: readonly string[],
  { batch, concurrency, onProgress, signal }: ResolvedSendAll,
  send: (to: readonly string[], index: number) => Promise<Sent | RepeatedBatch>,
): Promise<SentAll> {
  const batches = Array.from({ length: Math.ceil(all.length / batch) }, (_, index) =>
    all.slice(index * batch, (index + 1) * batch),
  )
  const ends = new Map<number, End>()
  const counts = { total: all.length, accepted: 0, refused: 0, failed: 0, repeated: 0, unknown: 0, unsent: all.length }
  let stoppedBy: SendError | undefined
  let next = 0

  function count(end: End, size: number): void {
    counts.unsent -= size
    const answer = 'error' in end ? end.error.answer : end
    if (answer === undefined) {
      counts['error' in end && !end.error.mayBeSent ? 'failed' : 'unknown'] += size
    } else if (!('recipients' in answer)) {
      counts.repeated += size
    } else {
      const accepted = answer.recipients.filter(({ outcome }) => outcome === 'accepted').length
      const refused = answer.recipients.filter(({ outcome }) => outcome === 'refused').length
      counts.accepted += accepted
      counts.refused += refused
      counts.unknown += Math.max(0, size - accepted - refused)
    }
    try {
      letReject(onProgress?.({ ...counts, batches: ends.size }))
    } catch {
      // What a listener does wrong must not lose what is known of the others.
    }
  }

  async function work(): Promise<void> {
    while (stoppedBy === undefined && next < batches.length) {
      if (signal?.aborted === true) {
        stoppedBy = new SendError('aborted', { mayBeSent: false, attempts: 0, recipients: counts.unsent })
        return
      }
      const index = next
      next += 1
      const to = batches[index] ?? []
      const end = await send(to, index).catch((error: unknown): End => ({ to, error: asSendError(error, to.length) }))
      ends.set(index, end)
      stoppedBy ??= stopOf(end)
      count(end, to.length)
    }
  }

  await Promise.all(Array.from({ length: Math.min(concurrency, batches.length) }, work))
  const inOrder = batches.flatMap((_, index) => ends.get(index) ?? [])
  return {
    sent: inOrder.filter((end): end is Sent => 'recipients' in end),
    failed: inOrder.filter((end): end is FailedBatch => 'error' in end),
    repeated: inOrder.filter((end): end is RepeatedBatch => 'reference' in end && !('recipients' in end)),
    unsent: batches.slice(next).flat(),
    counts,
    stoppedBy,
  }
}

/** What a batch met that every later one would meet. Contract: by SMS, balance and volume limit are codes of the recipients. */
function stopOf(end: End): SendError | undefined {
  if ('error' in end) return STOPPING.has(end.error.code) ? end.error : undefined
  if (!('recipients' in end)) return undefined
  const codes = new Set(end.recipients.map(({ code }) => code))
  const [code] = codes
  if (codes.size !== 1 || (code !== 22 && code !== 23)) return undefined
  const { sentAt, recipients } = end
  const failure = { mayBeSent: false, attempts: 1, recipients: recipients.length, sentAt }
  return new SendError(code === 22 ? 'insufficient_balance' : 'volume_limit', failure)
}

/** A key that no header can carry is found with the first batch, where a function gives it. */
function asSendError(error: unknown, recipients: number): SendError {
  if (error instanceof SendError) return error
  const detail = error instanceof MessagingWebhooksError ? error.detail : undefined
  return new SendError('not_sent', { mayBeSent: false, attempts: 0, recipients, detail, cause: error })
}
