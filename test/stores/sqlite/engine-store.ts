/** The SQLite store without its thread: for tests that open hundreds, where starting a thread takes longer than all the rest. */
import type { Store } from 'messaging-webhooks'
import type { OpenStore } from 'messaging-webhooks/store'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { openDatabase } from '../../../src/stores/sqlite/database.ts'
import { packEvents, unpackEvents } from '../../../src/stores/sqlite/encoding.ts'
import { createEngine } from '../../../src/stores/sqlite/engine.ts'

const RETENTION = { retentionDays: 7, deadLetterDays: 30, dedupeDays: 30 }

export function engineStore(path: string): Store {
  // Whether a holder is alive the file does not say.
  const { admitsAndClaims: _, ...capabilities } = sqliteStore(path).capabilities
  return {
    capabilities: { ...capabilities, knowsHolders: false },
    async open({ report = () => {} }): Promise<OpenStore> {
      const database = await openDatabase({ path, synchronous: 'OFF', busyTimeoutMs: 5_000 })
      const { engine } = createEngine({ database, retention: RETENTION, report })
      engine.hold({ name: 'v1-000000000000', process: 'here:1', sinceMs: 0 })
      const { admitAndClaim: _, ...store } = engine
      return {
        ...store,
        admit: (events, nowMs) => engine.admit(unpackEvents(packEvents(events)), nowMs),
        admitOverdue: (events, nowMs) => engine.admitOverdue?.(unpackEvents(packEvents(events)), nowMs) ?? [],
      }
    },
  }
}
