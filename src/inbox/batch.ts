/** Group commit: what arrives while a write is under way goes into the next one, and nobody waits on a timer. */
import type { Awaitable } from './store.ts'

const MOST_A_BATCH = 512

interface Waiting<T, R> {
  readonly item: T
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

/**
 * Turns a write of many into a write of one. A write that answers at once (memory) is passed through. An error among the
 * results rejects that item alone.
 */
export function inBatches<T, R>(
  write: (items: readonly T[]) => Awaitable<readonly (R | Error)[]>,
): (item: T) => Awaitable<R> {
  let waiting: Waiting<T, R>[] = []
  let writing = false

  async function finish(batch: readonly Waiting<T, R>[], results: Promise<readonly (R | Error)[]>): Promise<void> {
    try {
      distribute(batch, await results)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    writing = false
    writeWaiting()
  }

  function writeWaiting(): void {
    if (writing || waiting.length === 0) return
    const batch = waiting.slice(0, MOST_A_BATCH)
    waiting = waiting.slice(MOST_A_BATCH)
    writing = true
    const begin = async (): Promise<readonly (R | Error)[]> => write(batch.map(({ item }) => item))
    void finish(batch, begin())
  }

  return (item) => {
    if (writing) return new Promise<R>((resolve, reject) => waiting.push({ item, resolve, reject }))
    const results = write([item])
    if (!(results instanceof Promise)) return only(results)
    writing = true
    return new Promise<R>((resolve, reject) => void finish([{ item, resolve, reject }], results))
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

function only<R>(results: readonly (R | Error)[]): R {
  const [result] = results
  if (result === undefined) throw new Error('The store gave no answer for an event.')
  if (result instanceof Error) throw result
  return result
}
