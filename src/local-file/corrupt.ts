/** Replaces a corrupt file: it stays under another name, and a new file takes over the rows that can still be read. */
import { renameSync } from 'node:fs'
import { MessagingWebhooksError } from '../public/errors.ts'
import { systemClock } from '../runtime/clock.ts'
import { systemCode } from '../runtime/values.ts'
import { sql, type Sql } from '../runtime/sql.ts'
import { connect, type Connection } from '../sqlite/connection.ts'
import { openLocalDatabase, type FileSettings } from './open.ts'

/** Moves the file and its log, which belong together. No connection of this process may be open. Returns the error to report. */
export async function replaceCorrupt(settings: FileSettings, found: MessagingWebhooksError) {
  const { path } = settings
  const moved = `${path}.corrupt-${systemClock().now()}`
  for (const suffix of ['', '-wal', '-shm']) move(`${path}${suffix}`, `${moved}${suffix}`)
  const corrupt = await connect(moved)
  const database = await openLocalDatabase(settings)
  try {
    const copied = database.transaction(true, () => copyReadable(database.db, corrupt))
    const kept = `It is now ${moved}. Read from it: ${copied.events} events, ${copied.requests} refused requests.`
    return new MessagingWebhooksError('spool_damaged', `${found.detail ?? path} ${kept}`, { cause: found.cause })
  } finally {
    corrupt.close()
    database.db.close()
  }
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}

/** A row keeps its number, and so its place, unless another process has used the number in the new file. */
const INSERT_EVENT = sql`
WITH own (id) AS (VALUES (?)) INSERT INTO spool (id, slot, fields, raw, error)
SELECT iif(EXISTS (SELECT 1 FROM spool WHERE spool.id = own.id), NULL, own.id), ?, ?, ?, ? FROM own`
const INSERT_REQUEST = sql`
INSERT OR IGNORE INTO requests (sequence, digest, class, rank, project, unchecked, arrived, size, fields, raw)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const EVENTS = sql`SELECT id, slot, fields, raw, error FROM spool ORDER BY id`
const REQUESTS = sql`
SELECT sequence, digest, class, rank, project, unchecked, arrived, size, fields, raw
FROM requests ORDER BY sequence`

type Statement = ReturnType<Connection['prepare']>

function copyReadable(db: Connection, corrupt: Connection) {
  return {
    events: copyRows(db.prepare(INSERT_EVENT), corrupt, EVENTS),
    requests: copyRows(db.prepare(INSERT_REQUEST), corrupt, REQUESTS),
  }
}

/** Reads from the beginning up to the first corrupt page, then from the end. */
function copyRows(insert: Statement, corrupt: Connection, query: Sql): number {
  const copied = new Set<unknown>()
  for (const direction of ['ASC', 'DESC'] as const)
    for (const row of readable(corrupt, sql`${query} ${direction}`)) {
      const [number, ...values] = Object.values(row)
      if (number === undefined || copied.has(number)) continue
      insert.run(number, ...values)
      copied.add(number)
    }
  return copied.size
}

function* readable(corrupt: Connection, query: Sql): Generator<ReturnType<Statement['all']>[number]> {
  try {
    yield* corrupt.prepare(query).iterate()
  } catch {
    // The rest cannot be read from here.
  }
}
