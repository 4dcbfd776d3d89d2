/** The tables of the file, version by version, and the refusal of what is not ours. */
import type { DatabaseSync } from 'node:sqlite'
import { MessagingWebhooksError } from '../../errors.ts'

/**
 * The first tables. Integer keys in order of arrival, so that inserts append; the digests stand only in narrow unique
 * indexes (measured by others and by us: a table clustered by a random text key takes about half as much).
 *
 * STRICT, and with the one check that no reader can make up for: no index, and so nobody, would find an event of another state.
 */
export const INBOX = /* sql */ `
CREATE TABLE messages (
  rowid INTEGER PRIMARY KEY,
  key BLOB NOT NULL,
  steps INTEGER NOT NULL,
  handed TEXT NOT NULL,
  handed_open TEXT NOT NULL,
  token INTEGER NOT NULL,
  lease_token INTEGER NOT NULL,
  due INTEGER,
  latest BLOB
) STRICT;
CREATE UNIQUE INDEX messages_by_key ON messages (key);
-- When something of a message may be claimed: its first waiting event is due, or its lease has run out.
CREATE INDEX messages_due ON messages (due) WHERE due IS NOT NULL;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  message INTEGER NOT NULL,
  ord TEXT NOT NULL,
  final INTEGER NOT NULL,
  awaits INTEGER NOT NULL,
  due INTEGER NOT NULL,
  late INTEGER NOT NULL,
  replay INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  token INTEGER NOT NULL,
  -- 0 waits, 1 settled, 2 dead
  state INTEGER NOT NULL,
  admitted_at INTEGER NOT NULL,
  ended_at INTEGER,
  error TEXT,
  record BLOB,
  raw BLOB,
  CHECK (state = 0 OR (state IN (1, 2) AND ended_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX events_by_id ON events (id);
CREATE INDEX events_waiting ON events (message, ord) WHERE state = 0;
CREATE INDEX events_dead ON events (ended_at, seq) WHERE state = 2;
CREATE INDEX events_kept ON events (ended_at) WHERE state = 1 AND raw IS NOT NULL;
CREATE INDEX events_recognised ON events (ended_at) WHERE state = 1 AND raw IS NULL;
`

/**
 * Who holds a lease, so that the leases of a dead process need not run out. AUTOINCREMENT, because a key that came again
 * would make one store's leases another's.
 */
const HOLDERS = /* sql */ `
CREATE TABLE holders (holder INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT;
-- Of the last lease; it means nothing while lease_token is 0.
ALTER TABLE messages ADD COLUMN holder INTEGER;
`

/** One row: the latest time that the store was told, for the machine's clock may be set back. */
const LATEST_TIME = /* sql */ `
CREATE TABLE latest_time (told INTEGER NOT NULL) STRICT;
INSERT INTO latest_time VALUES (0);
`

/** What people who look on are told of a holder; null of one that an earlier version of this package has entered. */
const HOLDER_NAMES = /* sql */ `
ALTER TABLE holders ADD COLUMN process TEXT;
ALTER TABLE holders ADD COLUMN since INTEGER;
`

/**
 * What was sent, beside its message, of which no event need be there. `overdue_at`: when it will be; 0 once that was said of it;
 * null where it had an end in time. Only messages that are expected stand in the indexes.
 */
const EXPECTED_MESSAGES = /* sql */ `
ALTER TABLE messages ADD COLUMN sent_at INTEGER;
ALTER TABLE messages ADD COLUMN overdue_at INTEGER;
ALTER TABLE messages ADD COLUMN expected BLOB;
CREATE INDEX messages_sent ON messages (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX messages_overdue ON messages (overdue_at) WHERE overdue_at > 0;
`

/** The lowest seven bits of `user_version` say how many migrations a file has; the others, how late it was when it was written. */
const VERSIONS = 2 ** 7
const STAMPS = 2 ** 24
const STAMP_MS = 8_000

/** Numbered from 1. */
const MIGRATIONS: readonly string[] = [INBOX, HOLDERS, LATEST_TIME, HOLDER_NAMES, EXPECTED_MESSAGES]

/** Marks a file as ours: "mwhk" in ASCII. */
export const APPLICATION_ID = 0x6d77686b

/** Throws for a file that is somebody else's, or of a later version of this package. */
export function checkOurs(db: DatabaseSync): void {
  const version = readVersion(db)
  const applicationId = readPragma(db, 'application_id')
  const tables = Number(db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables'])
  if (applicationId !== APPLICATION_ID && (applicationId !== 0 || version !== 0 || tables > 0))
    throw new MessagingWebhooksError('store_foreign')
  if (version > MIGRATIONS.length)
    throw new MessagingWebhooksError(
      'store_newer',
      `The file has version ${version}; this package knows ${MIGRATIONS.length}.`,
    )
}

/** Gives the file the tables that it has not. */
export function migrate(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again: another process may have migrated while we waited for the lock.
    for (let version = readVersion(db); version < MIGRATIONS.length; version += 1) {
      db.exec(MIGRATIONS[version] ?? '')
      db.exec(`PRAGMA user_version = ${version + 1}`)
    }
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

/** Writes into the first page how late it is, by which `file-watch.ts` knows an older copy; within a transaction. */
export function stampFile(db: DatabaseSync, nowMs: number): void {
  const stamp = Math.floor(nowMs / STAMP_MS) % STAMPS
  db.exec(`PRAGMA user_version = ${stamp * VERSIONS + MIGRATIONS.length}`)
}

/** Whether one `user_version` was stamped before another, both as unsigned numbers: stamps begin anew after four years. */
export function isEarlier(one: number, other: number): boolean {
  const ahead = (Math.floor(one / VERSIONS) - Math.floor(other / VERSIONS) + STAMPS) % STAMPS
  return ahead >= STAMPS / 2
}

function readVersion(db: DatabaseSync): number {
  return readPragma(db, 'user_version') & (VERSIONS - 1)
}

function readPragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name])
}
