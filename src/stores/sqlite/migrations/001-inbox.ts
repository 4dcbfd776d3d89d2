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
