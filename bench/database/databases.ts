/** The servers of all stores that a program measures: each is looked at through one reader, whoever uses it. */
import { STORES, type StoreEntry, type StoreName } from '../contenders/stores.ts'
import type { DatabaseCpu } from './cpu.ts'

interface Databases {
  /** Undefined for a store without a server, and where the server's CPU time cannot be had. */
  of(store: StoreName | undefined): Promise<DatabaseCpu | undefined>
  close(): Promise<void>
}

export function createDatabases(): Databases {
  const readers = new Map<StoreName, DatabaseCpu | undefined>()
  return {
    async of(store) {
      if (store === undefined) return undefined
      const { cpu }: StoreEntry = STORES[store]
      if (!readers.has(store)) readers.set(store, await cpu?.())
      return readers.get(store)
    },
    async close() {
      for (const reader of readers.values()) await reader?.close()
    },
  }
}
