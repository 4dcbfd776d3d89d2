/** The totals and the workers of an open store, for observers. */
import type { OpenStore, StoreCounts } from './store.ts'

/** A worker: a process that has the store open and keeps its leases by sending heartbeats. */
export interface StoreWorker {
  /** Random. A process that was declared dead continues under another id. */
  readonly id: string
  /** Host name and process id, as the process reported them. */
  readonly name: string
  readonly isSelf: boolean
  /** When it registered, by the store’s clock. Undefined if the store does not record it. */
  readonly since: Date | undefined
  /** Time since its last heartbeat, in milliseconds. */
  readonly silentMs: number
  /** Events under its leases. */
  readonly held: number
}

/** Undefined if the store does not record its workers. */
async function workersOf(store: OpenStore<object>): Promise<readonly StoreWorker[] | undefined> {
  const workers = await store.workers?.()
  return workers?.map(({ sinceMs, ...worker }) => {
    return { ...worker, since: sinceMs === undefined ? undefined : new Date(sinceMs) }
  })
}

export interface Known extends StoreCounts {
  /** Undefined if the store does not record its workers. */
  readonly workers: readonly StoreWorker[] | undefined
}

export async function knownOf(store: OpenStore<object>): Promise<Known> {
  const [counts, workers] = await Promise.all([store.counts(), workersOf(store)])
  return { ...counts, workers }
}
