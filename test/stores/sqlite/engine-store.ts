/** The SQLite store without its thread, for tests that open hundreds: starting a thread takes longer than the rest. */
import type { Store } from 'messaging-webhooks'
import type { OpenStore } from 'messaging-webhooks/store'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { openDatabase } from '../../../src/stores/sqlite/database.ts'
import { packEvents, unpackEvents } from '../../../src/stores/sqlite/encoding.ts'
import { createEngine } from '../../../src/stores/sqlite/engine.ts'

const RETENTION = { retentionDays: 7, deadLetterDays: 30, dedupeDays: 30 }

export function engineStore(path: string): Store {
  return {
    capabilities: sqliteStore(path).capabilities,
    async open({ report = () => {} }): Promise<OpenStore> {
      const database = await openDatabase({ path, synchronous: 'OFF', busyTimeoutMs: 5_000 })
      const { workers, ...engine } = createEngine({ database, retention: RETENTION, report })
      workers.enter({ name: 'v1-000000000000', process: 'here:1', sinceMs: 0 })
      return {
        ...engine,
        latestNowMs: database.latestNowMs,
        admit: (events, nowMs) => engine.admit(unpackEvents(packEvents(events)), nowMs),
        admitAndClaim: (events, request) => engine.admitAndClaim(unpackEvents(packEvents(events)), request),
        admitOverdue: (events, nowMs) => engine.admitOverdue(unpackEvents(packEvents(events)), nowMs),
      }
    },
  }
}
