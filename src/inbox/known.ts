/** What an open store says of itself to people who look on: how much it holds, and who has it open. */
import type { OpenStore, StoreCounts } from './store.ts'

/** A process that has the store open. What it has leased is its own for as long as it shows life. */
export interface Holder {
  /** Chosen at random; a process that was taken for dead goes on under another one. */
  readonly id: string
  /** The machine’s name and the process id, as it said them. */
  readonly name: string
  /** Whether it is this process. */
  readonly isSelf: boolean
  /** When it came, by the store’s clock; undefined where the store does not keep that. */
  readonly since: Date | undefined
  /** How long ago it last showed life, in milliseconds. */
  readonly silentMs: number
  /** Events under its leases. */
  readonly held: number
}

/** Undefined where the store does not know them. */
export async function holdersOf(store: OpenStore<object>): Promise<readonly Holder[] | undefined> {
  const holders = await store.holders?.()
  return holders?.map(({ sinceMs, ...holder }) => {
    return { ...holder, since: sinceMs === undefined ? undefined : new Date(sinceMs) }
  })
}

export interface Known extends StoreCounts {
  /** Undefined where the store does not know them. */
  readonly holders: readonly Holder[] | undefined
}

export async function knownOf(store: OpenStore<object>): Promise<Known> {
  const [counts, holders] = await Promise.all([store.counts(), holdersOf(store)])
  return { ...counts, holders }
}
