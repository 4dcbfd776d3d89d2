/** How long anybody waits for an answer of the store: a connection may fall silent. */
import { withDeadline, type Clock } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'

/** Rejects with `store_slow` after `timeoutMs`, and calls `onTimeout` then; what the answer brings later is its business. */
export function inStoreTime<T>(
  clock: Clock,
  timeoutMs: number,
  answer: Promise<T>,
  onTimeout = (): void => {},
): Promise<T> {
  return withDeadline(clock, timeoutMs, answer, () => {
    onTimeout()
    throw new MessagingWebhooksError('store_slow')
  })
}
