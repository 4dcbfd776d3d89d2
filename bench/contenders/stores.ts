/** The stores that the receiver is measured with: an entry each, on a place of its own that is removed afterwards. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type Store } from 'messaging-webhooks'

interface Opened {
  readonly store: Store
  readonly remove: () => Promise<void>
}

interface StoreEntry {
  readonly label: string
  /** Every 204 is on the disk. */
  readonly durable: boolean
  readonly make: () => Promise<Opened>
}

/** More than any round sends: what is measured is a store that knows all of it. */
const KNOWN_EVENTS = 20_000_000

export const STORES = {
  memory: {
    label: 'memory',
    durable: false,
    make: () => Promise.resolve({ store: memoryStore({ maxEvents: KNOWN_EVENTS }), remove: () => Promise.resolve() }),
  },
  sqlite: {
    label: 'SQLite, synchronous=FULL',
    durable: true,
    async make() {
      const { sqliteStore } = await import('messaging-webhooks/sqlite')
      const folder = await mkdtemp(join(tmpdir(), 'bench-sqlite-'))
      return {
        store: sqliteStore(join(folder, 'inbox.db')),
        remove: () => rm(folder, { recursive: true, force: true }),
      }
    },
  },
} as const satisfies Readonly<Record<string, StoreEntry>>

export type StoreName = keyof typeof STORES
