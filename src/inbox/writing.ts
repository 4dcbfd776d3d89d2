/** Writes a batch of events into the open store, with the rest of each reorder wait. */
import type { SteadyClock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Deadline } from './in-store-time.ts'
import type { Awaitable, MessageStore } from './store.ts'
import type { Admission } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'

interface Batch {
  readonly store: MessageStore<object>
  readonly events: readonly NewEvent[]
  readonly deadline: Deadline
  readonly mayLease: boolean
}

/**
 * Admits a batch into the open store and schedules its dispatch. With `mayLease` it may lease, in the same step, events that
 * can run here immediately. Rejects with `store_slow` at the deadline.
 */
export type AdmitBatch = (batch: Batch) => Awaitable<readonly Admission[]>

/** Like `AdmitBatch`. Throws if the store is not open or the deadline is over. */
export type WriteBatch = (
  batch: Omit<Batch, 'store'> & { readonly store: MessageStore<object> | undefined },
) => Awaitable<readonly Admission[]>

interface WritingOptions {
  readonly clock: SteadyClock
  /** Maximum reorder wait. */
  readonly gapTimeoutMs: number
  readonly admitBatch: AdmitBatch
}

export function writingWith({ clock, gapTimeoutMs, admitBatch }: WritingOptions): WriteBatch {
  /** The reorder wait starts when the callback arrives, and part of it may have passed on the way. */
  function withRestOfWait(event: NewEvent, nowMs: number): NewEvent {
    if (event.awaits === 0) return event
    const passedMs = Math.max(0, nowMs - event.record.receivedAtMs - clock.aheadMs)
    return { ...event, reorderWaitMs: Math.max(0, Math.min(gapTimeoutMs, event.reorderWaitMs - passedMs)) }
  }

  return ({ store, events, deadline, mayLease }) => {
    if (store === undefined) throw new MessagingWebhooksError('receiver_closed')
    if (deadline.isOver) throw new MessagingWebhooksError('store_slow')
    const haveWaits = events.some(({ awaits }) => awaits !== 0)
    const nowMs = haveWaits ? clock.now() : 0
    const timed = haveWaits ? events.map((event) => withRestOfWait(event, nowMs)) : events
    return admitBatch({ store, events: timed, deadline, mayLease })
  }
}
