/** The servers of all stores that a program measures. One reader serves all programs for each server. */
import { STORES, type StoreEntry, type StoreName } from '../contenders/stores.ts'
import type { DatabaseCpu } from './cpu.ts'

interface Databases {
  /** Undefined for a store without a server, and if the server's CPU time cannot be read. */
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
