/** Asking the store: much at once, and with a bound on how long anybody waits for its answer, for a connection may fall silent. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Awaitable } from './store.ts'
import { isError } from '../runtime/values.ts'

const NOTHING = (): void => {}

/** Rejects with `store_slow` after `timeoutMs`, and calls `onTimeout` then; what the answer brings later is its business. */
export function inStoreTime<T>(clock: Clock, timeoutMs: number, answer: Promise<T>, onTimeout = NOTHING): Promise<T> {
  return withDeadline(clock, timeoutMs, answer, () => {
    onTimeout()
    throw new MessagingWebhooksError('store_slow')
  })
}

/**
 * One bound for all that is asked of the store in one matter, and for what waits before it is asked. Whoever has it waits
 * for one answer at a time.
 */
export interface Patience {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Its time has passed. */
  isOver: boolean
  /** Ends the answer that is waited for. */
  giveUp: () => void
  /** Nobody waits any more; undefined until its time runs. */
  cancel: (() => void) | undefined
}

/** Its time runs from the first wait on, or from an earlier `beginPatience`. */
export function newPatience(clock: Clock, timeoutMs: number): Patience {
  return { clock, timeoutMs, isOver: false, giveUp: NOTHING, cancel: undefined }
}

function beginPatience(patience: Patience): void {
  patience.cancel = patience.clock.setTimer(() => {
    patience.isOver = true
    patience.giveUp()
  }, patience.timeoutMs)
}

/** Settles as the answer does, or rejects with `store_slow` when the time is over, and calls `onTimeout` then. */
export function waitFor<T>(patience: Patience, answer: Promise<T>, onTimeout = NOTHING): Promise<T> {
  if (patience.cancel === undefined) beginPatience(patience)
  return new Promise((resolve, reject) => {
    patience.giveUp = () => {
      onTimeout()
      reject(new MessagingWebhooksError('store_slow'))
    }
    // Once it is there, no timer fires before the next one is waited for, or nobody waits any more.
    answer.then(resolve, reject)
    if (patience.isOver) patience.giveUp()
  })
}

const MOST_A_BATCH = 512

interface Batch<T, R> {
  readonly items: T[]
  readonly waiting: { readonly resolve: (result: R) => void; readonly reject: (error: unknown) => void }[]
  /** Its first item's: whatever came later has waited less. */
  readonly patience: Patience
}

/** A write waits so long for others to go with it, but no longer once it would be so many. */
export interface Hold {
  readonly holdMs: number
  readonly most: number
  /** Somebody waits after all. Whoever batches by this hold sets it. */
  writeNow: () => void
}

/**
 * Turns a write of many into a write of one: what arrives while a write is under way goes into the next one, and nobody waits
 * on a timer but where there is a `hold`. A write that answers at once (memory) is passed through. An error among later results
 * rejects that item alone. A batch's patience begins when its first item comes, and lasts `usualMs` where that item says
 * nothing else; its `write` must not outlast it.
 */
export function inBatches<T, R>(
  clock: Clock,
  usualMs: number,
  write: (items: readonly T[], patience: Patience) => readonly R[] | Promise<readonly (R | Error)[]>,
  hold?: Hold,
): (item: T, timeoutMs?: number) => Awaitable<R> {
  const queue: Batch<T, R>[] = []
  let isWriting = false
  let cancelHold: (() => void) | undefined
  /** For what is written as it comes, one at a time: a store that answers at once uses none of it up. */
  const own = newPatience(clock, usualMs)

  async function finish({ waiting, patience }: Batch<T, R>, written: Promise<readonly (R | Error)[]>): Promise<void> {
    try {
      const results = await written
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const result = results[index] ?? new Error('The store answered for fewer events than it was given.')
        if (isError(result)) reject(result)
        else resolve(result)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
    patience.cancel?.()
    // It may be used again.
    patience.cancel = undefined
    patience.isOver = false
    isWriting = false
    if (queue.length > 0) goOn()
  }

  function goOn(): void {
    const next = queue[0]
    if (next === undefined || isWriting) return
    if (hold === undefined || next.items.length >= hold.most) writeNext()
    // Whoever closes waits for what is held.
    else cancelHold ??= clock.setTimer(writeNext, hold.holdMs, true)
  }

  function writeNext(): void {
    cancelHold?.()
    cancelHold = undefined
    const batch = queue.shift()
    if (batch === undefined) return
    isWriting = true
    const begin = async (): Promise<readonly (R | Error)[]> => write(batch.items, batch.patience)
    void finish(batch, begin())
  }

  /** Of those that wait for their turn, the last; a new one where that is full. */
  function nextBatch(timeoutMs: number): Batch<T, R> {
    const last = queue.at(-1)
    if (last !== undefined && last.items.length < MOST_A_BATCH) return last
    const batch = { items: [], waiting: [], patience: newPatience(clock, timeoutMs) }
    beginPatience(batch.patience)
    queue.push(batch)
    return batch
  }

  if (hold !== undefined)
    hold.writeNow = () => {
      if (cancelHold !== undefined) writeNext()
    }

  return (item, timeoutMs = usualMs) => {
    if (isWriting || hold !== undefined)
      return new Promise<R>((resolve, reject) => {
        const { items, waiting } = nextBatch(timeoutMs)
        items.push(item)
        waiting.push({ resolve, reject })
        if (hold !== undefined) goOn()
      })
    const patience = timeoutMs === usualMs ? own : newPatience(clock, timeoutMs)
    const results = write([item], patience)
    if (results instanceof Promise) {
      isWriting = true
      return new Promise<R>((resolve, reject) => {
        void finish({ items: [item], waiting: [{ resolve, reject }], patience }, results)
      })
    }
    const [result] = results
    if (result === undefined) throw new Error('The store gave no answer for an event.')
    return result
  }
}
