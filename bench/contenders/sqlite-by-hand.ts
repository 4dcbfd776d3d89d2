/** `node:sqlite` by hand: an insert for each request, then the handler, then an update when it is done. */
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { identityOf } from './by-hand.ts'
import { createTally, type Running, type StartOptions } from './contender.ts'
import { expressKeeping, untilNone } from './express-keeping.ts'
import { newPlace } from './stores.ts'

export function start({ place = newPlace() }: StartOptions): Running {
  const tally = createTally()
  const folder = join(tmpdir(), `bench-sqlite-by-hand-${place}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const database = new DatabaseSync(join(folder, 'reports.db'))
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS reports (id TEXT PRIMARY KEY, body BLOB NOT NULL, done INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS undone ON reports (id) WHERE done = 0;
  `)
  const insert = database.prepare('INSERT OR IGNORE INTO reports (id, body) VALUES (?, ?)')
  const update = database.prepare('UPDATE reports SET done = 1 WHERE id = ?')
  let left = 0

  function dispatch(id: string): void {
    left += 1
    // Answer first.
    setImmediate(() => {
      tally.count()
      update.run(id)
      left -= 1
    })
  }

  // Dispatch what an earlier process did not finish.
  for (const { id } of database.prepare('SELECT id FROM reports WHERE done = 0').all()) dispatch(String(id))
  return {
    server: expressKeeping((report, body) => {
      const id = identityOf(report)
      if (insert.run(id, body).changes > 0) dispatch(id)
      return undefined
    }),
    tally,
    settle: () => untilNone(() => left),
    async close({ remove }) {
      database.close()
      if (remove) rmSync(folder, { recursive: true, force: true })
    },
  }
}
