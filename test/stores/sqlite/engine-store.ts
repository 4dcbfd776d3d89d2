/** The SQLite store without its thread, for tests that open hundreds: starting a thread takes longer than the rest. */
import type { Store } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import type { Command } from 'messaging-webhooks/store'
import type { MessageStore } from '../../../src/inbox/store.ts'
import { openDatabase } from '../../../src/stores/sqlite/database.ts'
import { packCommands, unpackCommands } from '../../../src/stores/sqlite/encoding.ts'
import { createEngine } from '../../../src/stores/sqlite/engine.ts'

const RETENTION = { retentionDays: 7, deadLetterDays: 30, dedupeDays: 30 }

export function engineStore(path: string, retention: Partial<typeof RETENTION> = {}): Store {
  return {
    capabilities: sqliteStore(path).capabilities,
    async open({ nowMs }): Promise<MessageStore> {
      const database = await openDatabase({ path, synchronous: 'OFF', busyTimeoutMs: 5_000 })
      const { workers, ...engine } = createEngine({ database, retention: { ...RETENTION, ...retention } })
      workers.enter({ name: 'v1-000000000000', process: 'here:1', sinceMs: 0 })
      const times = () => ({ nowMs: nowMs(), trustedMs: nowMs() })
      return {
        ...engine,
        run: <C extends Command>(commands: readonly C[]) => {
          // Unpacked, they are what was packed.
          const unpacked = unpackCommands(packCommands(commands)) as readonly C[]
          return engine.run(unpacked, times())
        },
        due: (request) => engine.due(request, times()),
      }
    },
  }
}
