/**
 * A store on a database of your own, which any number of processes may share. The package decides everything about events; the
 * database keeps texts, compares versions, and finds records by two times. Here it is a table of SQLite: put yours in its place.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createReceiver } from 'messaging-webhooks'
import {
  openRecordStore,
  type RecordChange,
  type RecordStore,
  type RecordStoreOptions,
  type Store,
  type StoredRecord,
} from 'messaging-webhooks/store'
import { callback } from 'messaging-webhooks/testing'

/** The times and counts of a record are columns, so that indexes find it. `text` holds everything else. */
const TABLES = /* sql */ `
CREATE TABLE IF NOT EXISTS records (
  key TEXT PRIMARY KEY, version TEXT NOT NULL, text TEXT NOT NULL,
  due_ms INTEGER, overdue_ms INTEGER, unsettled INTEGER NOT NULL, dead_letters INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS records_due ON records (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_overdue ON records (overdue_ms) WHERE overdue_ms IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_dead ON records (key) WHERE dead_letters > 0;
CREATE TABLE IF NOT EXISTS payloads (
  key TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (key, id)
) STRICT;
`

/** An event is answered 204 once it is written: commits must be on the disk, and erased data overwritten. */
const SETTINGS = /* sql */ `
PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
`

const UPSERT_PAYLOAD = 'INSERT INTO payloads VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text'

/** The `store` option of `createReceiver`. */
export function ownStore(file: string, retention: Omit<RecordStoreOptions, 'host'> = {}): Store {
  return {
    capabilities: { name: 'own', durable: true, shared: true },
    open: (host) => openRecordStore(operations(new DatabaseSync(file)), { ...retention, host }),
  }
}

/** A database on a server would return promises. */
function operations(database: DatabaseSync): RecordStore {
  database.exec(SETTINGS + TABLES)

  function recordsFrom(rows: readonly Readonly<Record<string, unknown>>[]): readonly StoredRecord[] {
    const payloads = database.prepare('SELECT id, text FROM payloads WHERE key = ?')
    return rows.map(({ key, version, text }) => ({
      key: String(key),
      version: String(version),
      text: String(text),
      payloads: payloads.all(String(key)).map((row) => ({ id: String(row['id']), text: String(row['text']) })),
    }))
  }

  /** Returns false, and changes nothing, if another process has written the record since it was read. */
  function apply({ key, expected, row, payloads }: RecordChange): boolean {
    if (row === undefined) {
      const deleted = database.prepare('DELETE FROM records WHERE key = ? AND version = ?').run(key, expected ?? '')
      if (deleted.changes === 1) database.prepare('DELETE FROM payloads WHERE key = ?').run(key)
      return deleted.changes === 1
    }
    const { version, text, dueMs = null, overdueMs = null, unsettled, deadLetters } = row
    const values = [version, text, dueMs, overdueMs, unsettled, deadLetters, key]
    const statement =
      expected === undefined
        ? /* sql */ `
INSERT INTO records (version, text, due_ms, overdue_ms, unsettled, dead_letters, key) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`
        : /* sql */ `
UPDATE records SET version = ?, text = ?, due_ms = ?, overdue_ms = ?, unsettled = ?, dead_letters = ?
WHERE key = ? AND version = ?`
    const written = database.prepare(statement).run(...values, ...(expected === undefined ? [] : [expected]))
    if (written.changes === 0) return false
    for (const { id, text: payload } of payloads) {
      if (payload !== undefined) database.prepare(UPSERT_PAYLOAD).run(key, id, payload)
      else database.prepare('DELETE FROM payloads WHERE key = ? AND id = ?').run(key, id)
    }
    return true
  }

  return {
    read(keys) {
      const rows = database.prepare(
        'SELECT key, version, text FROM records WHERE key IN (SELECT value FROM json_each(?))',
      )
      return inTransaction(database, 'DEFERRED', () => recordsFrom(rows.all(JSON.stringify(keys))))
    },
    write: (changes) => inTransaction(database, 'IMMEDIATE', () => changes.map(apply)),
    due({ by, nowMs, limit, exclude }) {
      const column = by === 'dueMs' ? 'due_ms' : 'overdue_ms'
      const rows = database
        .prepare(
          /* sql */ `
SELECT key, ${column} AS ms FROM records
WHERE ${column} IS NOT NULL AND key NOT IN (SELECT value FROM json_each(?)) ORDER BY ${column} LIMIT ?`,
        )
        .all(JSON.stringify([...exclude]), limit + 1)
        .map(({ key, ms }) => ({ key: String(key), ms: Number(ms) }))
      const due = rows.slice(0, limit).filter(({ ms }) => ms <= nowMs)
      return { keys: due.map(({ key }) => key), nextMs: rows[due.length]?.ms }
    },
    records({ after, limit, withDeadLetters }) {
      const rows = database.prepare(/* sql */ `
SELECT key, version, text FROM records WHERE key > ? ${withDeadLetters ? 'AND dead_letters > 0' : ''} ORDER BY key LIMIT ?`)
      return inTransaction(database, 'DEFERRED', () => recordsFrom(rows.all(after, limit)))
    },
    counts() {
      const row = database
        .prepare('SELECT total(unsettled) AS unsettled, total(dead_letters) AS dead FROM records')
        .get()
      return { unsettled: Number(row?.['unsettled']), deadLetters: Number(row?.['dead']) }
    },
    close: () => database.close(),
  }
}

function inTransaction<T>(database: DatabaseSync, mode: 'DEFERRED' | 'IMMEDIATE', go: () => T): T {
  database.exec(`BEGIN ${mode}`)
  try {
    const answer = go()
    database.exec('COMMIT')
    return answer
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

if (process.argv[1] === import.meta.filename) {
  const file = join(mkdtempSync(join(tmpdir(), 'own-')), 'events.db')
  const body = Buffer.from(JSON.stringify(callback.smsDelivery({ authKey: 'key-of-the-example', messageId: 'sms-1' })))
  for (const time of ['first', 'second']) {
    // The second receiver finds what the first one has stored.
    const receiver = createReceiver({
      store: ownStore(file),
      credentials: { authKey: 'key-of-the-example', signingSecret: 'secret-of-the-example' },
      spool: false,
      logger: false,
    })
    receiver.on('message.*', ({ type, messageId }) => console.log(`${type}: ${messageId}`))
    await receiver.start()
    const { status } = await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
    await receiver.drain()
    const { duplicates, unsettled } = await receiver.stats()
    console.log(`${time} time: ${status}`, { duplicates, unsettled })
    await receiver.close()
  }
}
