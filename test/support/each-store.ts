/** The stores that need no server, for what must hold whatever the store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type Store } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { onTestFinished } from 'vitest'

/** The path of a database of its own, which goes with the test. */
export function ownFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hazard-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'inbox.db')
}

export const onEachStore: readonly (readonly [name: string, make: () => Store])[] = [
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(ownFile())],
]
