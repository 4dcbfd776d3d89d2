/** The tables of the local file. */
import { sql } from '../runtime/sql.ts'

export const SPOOL_TABLES = sql`
CREATE TABLE spool (
  -- The order of arrival. AUTOINCREMENT, so that a removal never meets another event under the same number.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- A part of the digest of the message, which tells whether the file may hold events of it.
  slot INTEGER NOT NULL,
  -- The event as JSON, without its body. Of an erased event, only its id and message.
  fields TEXT NOT NULL,
  -- Null once erased.
  raw BLOB,
  -- Why the store refuses the event; null while it waits.
  error TEXT
) STRICT;
CREATE INDEX spool_refused ON spool (id) WHERE error IS NOT NULL;

-- One row: which process moves events into the store.
CREATE TABLE relay (one INTEGER PRIMARY KEY CHECK (one = 1), holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
INSERT INTO relay VALUES (1, '', 0);
`

export const REQUEST_TABLES = sql`
CREATE TABLE requests (
  -- The order of arrival. Derived from the time, so that it survives the removal of all rows.
  sequence INTEGER PRIMARY KEY,
  digest BLOB NOT NULL,
  -- The class, best first. Requests of the class 0, which outsiders cannot forge, have half of the budget to themselves.
  class INTEGER NOT NULL,
  -- What is evicted first.
  rank INTEGER NOT NULL,
  project TEXT,
  -- 1 if its credentials could not be looked up.
  unchecked INTEGER NOT NULL,
  arrived INTEGER NOT NULL,
  size INTEGER NOT NULL,
  -- The rest as JSON, without the body.
  fields TEXT NOT NULL,
  raw BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX requests_by_digest ON requests (digest);
CREATE INDEX requests_by_rank ON requests (class = 0, rank, sequence);
CREATE INDEX requests_by_arrival ON requests (arrived);
CREATE INDEX requests_unchecked ON requests (project) WHERE unchecked = 1;

CREATE TABLE request_totals (
  class INTEGER PRIMARY KEY, count INTEGER NOT NULL, unchecked INTEGER NOT NULL, bytes INTEGER NOT NULL
) STRICT;
INSERT INTO request_totals VALUES (0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0), (3, 0, 0, 0);
CREATE TRIGGER request_added AFTER INSERT ON requests BEGIN
  UPDATE request_totals SET count = count + 1, unchecked = unchecked + new.unchecked, bytes = bytes + new.size
  WHERE class = new.class;
END;
CREATE TRIGGER request_removed AFTER DELETE ON requests BEGIN
  UPDATE request_totals SET count = count - 1, unchecked = unchecked - old.unchecked, bytes = bytes - old.size
  WHERE class = old.class;
END;
`
