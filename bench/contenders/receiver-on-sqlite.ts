/** Every 204 is on the disk: a batch of callbacks is one transaction, and one fsync. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import type { Contender } from './contender.ts'
import { receiverContender } from './receiver.ts'

export function receiverOnSqlite(): Contender {
  const folder = mkdtempSync(join(tmpdir(), 'bench-sqlite-'))
  const contender = receiverContender(
    'the same on SQLite',
    (middleware) => (request, response) => {
      middleware(request, response)
    },
    sqliteStore(join(folder, 'inbox.db')),
  )
  return {
    ...contender,
    async close() {
      await contender.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
