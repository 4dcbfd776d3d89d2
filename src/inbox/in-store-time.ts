/** Batches calls to the store. Each call has a deadline, because a connection may stop responding. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Awaitable } from './store.ts'
import { isError } from '../runtime/values.ts'

const NOTHING = (): void => {}

/** After `timeoutMs`, calls `onTimeout` and rejects with `store_slow`. The caller handles an answer that arrives later. */
export function inStoreTime<T>(clock: Clock, timeoutMs: number, answer: Promise<T>, onTimeout = NOTHING): Promise<T> {
  return withDeadline(clock, timeoutMs, answer, () => {
    onTimeout()
    throw new MessagingWebhooksError('store_slow')
  })
}

/** A deadline shared by several calls to the store and the wait before them. Only one call at a time may wait on it. */
export interface Deadline {
  readonly clock: Clock
  readonly timeoutMs: number
  isOver: boolean
  /** Ends the current wait. */
  abandon: () => void
  /** Stops the timer. Undefined until the timer starts. */
  cancel: (() => void) | undefined
}

/** The timer starts with the first wait, or earlier with `beginDeadline`. */
export function newDeadline(clock: Clock, timeoutMs: number): Deadline {
  return { clock, timeoutMs, isOver: false, abandon: NOTHING, cancel: undefined }
}

function beginDeadline(deadline: Deadline): void {
  deadline.cancel = deadline.clock.setTimer(() => {
    deadline.isOver = true
    deadline.abandon()
  }, deadline.timeoutMs)
}

/** Settles like the answer, or calls `onTimeout` and rejects with `store_slow` at the deadline. */
export function waitFor<T>(deadline: Deadline, answer: Promise<T>, onTimeout = NOTHING): Promise<T> {
  if (deadline.cancel === undefined) beginDeadline(deadline)
  return new Promise((resolve, reject) => {
    deadline.abandon = () => {
      onTimeout()
      reject(new MessagingWebhooksError('store_slow'))
    }
    // `abandon` needs no reset: after the answer, the timer cannot fire before the next wait or the cancellation.
    answer.then(resolve, reject)
    if (deadline.isOver) deadline.abandon()
  })
}

const MAX_BATCH = 512

interface Batch<T, R> {
  readonly items: T[]
  readonly waiting: { readonly resolve: (result: R) => void; readonly reject: (error: unknown) => void }[]
  /** Starts with its first item. Later items have waited less. */
  readonly deadline: Deadline
}

/**
 * Combines items into batches: items that arrive during a write form the next batch. Passes a
 * synchronous result (from memory) through. An error among asynchronous results rejects only its own item. The deadline of a
 * batch starts with its first item and lasts `usualMs`, or the timeout given with that item. `write` must meet it.
 */
export function inBatches<T, R>(
  clock: Clock,
  usualMs: number,
  write: (items: readonly T[], deadline: Deadline) => readonly R[] | Promise<readonly (R | Error)[]>,
): (item: T, timeoutMs?: number) => Awaitable<R> {
  const queue: Batch<T, R>[] = []
  let isWriting = false
  /** Deadline of items written immediately, one at a time. A synchronous store never starts its timer. */
  const own = newDeadline(clock, usualMs)

  async function finish({ waiting, deadline }: Batch<T, R>, written: Promise<readonly (R | Error)[]>): Promise<void> {
    try {
      const results = await written
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const result = results[index] ?? new Error('The store returned fewer results than it was given events.')
        if (isError(result)) reject(result)
        else resolve(result)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
    deadline.cancel?.()
    // `own` is reused.
    deadline.cancel = undefined
    deadline.isOver = false
    isWriting = false
    if (queue.length > 0) goOn()
  }

  function goOn(): void {
    const next = queue[0]
    if (next === undefined || isWriting) return
    queue.shift()
    isWriting = true
    const begin = async (): Promise<readonly (R | Error)[]> => write(next.items, next.deadline)
    void finish(next, begin())
  }

  /** The last waiting batch, or a new one if that is full. */
  function nextBatch(timeoutMs: number): Batch<T, R> {
    const last = queue.at(-1)
    if (last !== undefined && last.items.length < MAX_BATCH) return last
    const batch = { items: [], waiting: [], deadline: newDeadline(clock, timeoutMs) }
    beginDeadline(batch.deadline)
    queue.push(batch)
    return batch
  }

  return (item, timeoutMs = usualMs) => {
    if (isWriting)
      return new Promise<R>((resolve, reject) => {
        const { items, waiting } = nextBatch(timeoutMs)
        items.push(item)
        waiting.push({ resolve, reject })
      })
    const deadline = timeoutMs === usualMs ? own : newDeadline(clock, timeoutMs)
    const results = write([item], deadline)
    if (results instanceof Promise) {
      isWriting = true
      return new Promise<R>((resolve, reject) => {
        void finish({ items: [item], waiting: [{ resolve, reject }], deadline }, results)
      })
    }
    const [result] = results
    if (result === undefined) throw new Error('The store returned no result for an event.')
    return result
  }
}
