/** The tables of the file, by version, and the refusal of foreign files. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { readPragma, setPragma, type Connection } from '../../sqlite/connection.ts'
import { refuseNewer } from '../stored.ts'
import { sql, type Sql } from '../../runtime/sql.ts'

/**
 * Integer keys in order of arrival, so that inserts append. Digests are only in narrow unique indexes: a table clustered by a
 * random text key is about half as fast.
 */
const INBOX = sql`
CREATE TABLE records (
  number INTEGER PRIMARY KEY,
  key BLOB NOT NULL,
  -- The record without its send; see codec.ts.
  state TEXT NOT NULL,
  -- Number of unsettled events.
  waiting INTEGER NOT NULL CHECK (waiting BETWEEN 0 AND 1000000),
  -- When an event can be leased; null without waiting events.
  due INTEGER CHECK (due BETWEEN -9007199254740991 AND 9007199254740991),
  -- The worker that holds the lease.
  worker INTEGER,
  -- The day of its last change; null while it cannot expire. See lastDay.
  forget_day INTEGER,
  send TEXT,
  sent_at INTEGER,
  overdue_at INTEGER CHECK (overdue_at BETWEEN -9007199254740991 AND 9007199254740991),
  -- Waiting events are found by due.
  CHECK (waiting = 0 OR due IS NOT NULL),
  CHECK (sent_at IS NOT NULL OR (send IS NULL AND overdue_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX records_by_key ON records (key);
CREATE INDEX records_due ON records (due, waiting) WHERE due IS NOT NULL;
CREATE INDEX records_forget ON records (forget_day) WHERE forget_day IS NOT NULL;
CREATE INDEX records_sent ON records (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX records_overdue ON records (overdue_at) WHERE overdue_at IS NOT NULL;

CREATE TABLE payloads (
  seq INTEGER PRIMARY KEY,
  message INTEGER NOT NULL,
  id BLOB NOT NULL,
  admitted_at INTEGER NOT NULL,
  record BLOB,
  raw BLOB,
  error TEXT
) STRICT;
CREATE INDEX payloads_of_message ON payloads (message);

CREATE TABLE dead_letters (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
  message INTEGER NOT NULL,
  died_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX dead_letters_by_id ON dead_letters (id);
CREATE INDEX dead_letters_by_time ON dead_letters (died_at, seq);

-- The workers, so that leases of a dead process need not expire. AUTOINCREMENT, because a reused number would give the leases of
-- one worker to another.
CREATE TABLE workers (
  worker INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, process TEXT NOT NULL, since INTEGER NOT NULL
) STRICT;

-- One row: the latest time known to the store, because the machine's clock may be set back.
CREATE TABLE latest_time (at INTEGER NOT NULL) STRICT;
INSERT INTO latest_time VALUES (0);
`

/** Numbered from 1. `user_version` is the number of the last one. */
const MIGRATIONS: readonly Sql[] = [INBOX]

/** Application id: "mwhk" in ASCII. */
const APPLICATION_ID = 0x6d77686b

/** Throws for a foreign file, or one of a later version of this package. */
export function checkOurs(db: Connection): void {
  const version = readPragma(db, 'user_version')
  const applicationId = readPragma(db, 'application_id')
  const tables = Number(db.prepare(sql`SELECT count(*) AS tables FROM sqlite_schema`).get()?.['tables'])
  if (applicationId !== APPLICATION_ID && (applicationId !== 0 || version !== 0 || tables > 0))
    throw new MessagingWebhooksError('store_foreign')
  refuseNewer('The file has', version, MIGRATIONS.length)
}

/** Creates the missing tables. */
export function migrate(db: Connection): void {
  db.exec(sql`BEGIN IMMEDIATE`)
  try {
    // Read again: another process may have migrated while this one waited for the lock.
    for (let version = readPragma(db, 'user_version'); version < MIGRATIONS.length; version += 1) {
      db.exec(MIGRATIONS[version] ?? sql``)
      setPragma(db, 'user_version', version + 1)
    }
    setPragma(db, 'application_id', APPLICATION_ID)
    db.exec(sql`COMMIT`)
  } catch (error) {
    db.exec(sql`ROLLBACK`)
    throw error
  }
}
