/** Group commit: what arrives while a write is under way goes into the next one, and nobody waits on a timer. */
import type { Clock } from '../clock.ts'
import { Patience } from './in-store-time.ts'
import type { Awaitable } from './store.ts'

const MOST_A_BATCH = 512

interface Waiting<T, R> {
  readonly item: T
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

interface Batch<T, R> {
  readonly waiting: Waiting<T, R>[]
  /** Its first item's: whatever came later has waited less. */
  readonly patience: Patience
}

/**
 * Turns a write of many into a write of one. A write that answers at once (memory) is passed through. An error among the
 * results rejects that item alone. A batch's patience begins when its first item comes, and lasts `usualMs` where that item
 * says nothing else; its `write` must not outlast it.
 */
export function inBatches<T, R>(
  clock: Clock,
  usualMs: number,
  write: (items: readonly T[], patience: Patience) => Awaitable<readonly (R | Error)[]>,
): (item: T, timeoutMs?: number) => Awaitable<R> {
  const queue: Batch<T, R>[] = []
  let writing = false
  /** For the next item: a store that answers at once uses none of it up. */
  let unused = new Patience(clock, usualMs)

  async function finish({ waiting, patience }: Batch<T, R>, results: Promise<readonly (R | Error)[]>): Promise<void> {
    try {
      distribute(waiting, await results)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
    patience.end()
    writing = false
    writeNext()
  }

  function writeNext(): void {
    if (writing) return
    const batch = queue.shift()
    if (batch === undefined) return
    writing = true
    const items = batch.waiting.map(({ item }) => item)
    const begin = async (): Promise<readonly (R | Error)[]> => write(items, batch.patience)
    void finish(batch, begin())
  }

  function join(waiting: Waiting<T, R>, timeoutMs: number): void {
    const last = queue.at(-1)
    if (last !== undefined && last.waiting.length < MOST_A_BATCH) {
      last.waiting.push(waiting)
      return
    }
    const patience = new Patience(clock, timeoutMs)
    patience.begin()
    queue.push({ waiting: [waiting], patience })
  }

  return (item, timeoutMs = usualMs) => {
    if (writing) return new Promise<R>((resolve, reject) => join({ item, resolve, reject }, timeoutMs))
    const patience = timeoutMs === usualMs ? unused : new Patience(clock, timeoutMs)
    const results = write([item], patience)
    if (results instanceof Promise) {
      writing = true
      unused = new Patience(clock, usualMs)
      return new Promise<R>((resolve, reject) => {
        void finish({ waiting: [{ item, resolve, reject }], patience }, results)
      })
    }
    const [result] = results
    if (result === undefined) throw new Error('The store gave no answer for an event.')
    if (result instanceof Error) throw result
    return result
  }
}

function distribute<T, R>(batch: readonly Waiting<T, R>[], results: readonly (R | Error)[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const result = results[index]
    if (result === undefined) reject(new Error('The store answered for fewer events than it was given.'))
    else if (result instanceof Error) reject(result)
    else resolve(result)
  }
}
