/** The stores that need no server, for behavior that every store shares. */

import { memoryStore, type Store } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { ownFile } from './own-folder.ts'

export const onEachStore: readonly (readonly [name: string, make: () => Store])[] = [
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(ownFile())],
]
