/**
 * The tables, version by version. {schema} is the name of the schema.
 *
 * A record has a number, so that the keys of the other tables arrive in order and are appended; the digests of messages are in one
 * unique index, the only one with entries at random places. Records and `due` keep room in their pages, because most records are
 * written a second time within milliseconds.
 */
const INBOX = /* sql */ `
CREATE TABLE {schema}.records (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL,
  -- Changes with each write.
  version bigint NOT NULL,
  -- All but what was sent; see codec.ts.
  state bytea NOT NULL,
  -- The day of the last thing known of the message.
  last_day integer NOT NULL,
  -- The key of its message, where this is one event that had no room in the record of its message.
  of bytea,
  send bytea,
  sent_at bigint,
  overdue_at bigint CHECK (overdue_at BETWEEN -9007199254740991 AND 9007199254740991),
  CHECK (sent_at IS NOT NULL OR (send IS NULL AND overdue_at IS NULL))
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX records_by_key ON {schema}.records (key);
CREATE INDEX records_by_day ON {schema}.records (last_day);
CREATE INDEX records_of ON {schema}.records (of) WHERE of IS NOT NULL;
CREATE INDEX records_sent ON {schema}.records (sent_at, number) WHERE sent_at IS NOT NULL;
CREATE INDEX records_overdue ON {schema}.records (overdue_at) WHERE overdue_at IS NOT NULL;

-- Records with events that are not settled.
CREATE TABLE {schema}.due (
  record bigint PRIMARY KEY,
  -- When an event can be leased, or the lease expires.
  at bigint NOT NULL CHECK (at BETWEEN -9007199254740991 AND 9007199254740991),
  -- The worker that holds the lease.
  worker bigint,
  -- Unsettled events.
  waiting integer NOT NULL CHECK (waiting BETWEEN 0 AND 1000)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
CREATE INDEX due_by_time ON {schema}.due (at) INCLUDE (worker);

CREATE TABLE {schema}.payloads (
  record bigint NOT NULL,
  id bytea NOT NULL,
  admitted_at bigint NOT NULL,
  -- JSON, as bytes: jsonb refuses what a sender may well send.
  event bytea,
  raw bytea,
  -- Of a dead letter.
  error bytea,
  PRIMARY KEY (record, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX payloads_by_time ON {schema}.payloads (admitted_at);

CREATE TABLE {schema}.dead_letters (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id bytea NOT NULL,
  record bigint NOT NULL,
  died_at bigint NOT NULL
);
CREATE UNIQUE INDEX dead_letters_by_id ON {schema}.dead_letters (id);
CREATE INDEX dead_letters_by_time ON {schema}.dead_letters (died_at, seq);

-- Processes that hold leases. The row with 0 says when any of them showed life.
CREATE TABLE {schema}.workers (
  id bigint PRIMARY KEY,
  name text NOT NULL,
  since bigint NOT NULL,
  beaten bigint NOT NULL,
  -- When others found it dead, or it left.
  gone_since bigint
);

-- One row: the latest time that the store was told, where callers' clocks count.
CREATE TABLE {schema}.latest_time (told bigint NOT NULL);
INSERT INTO {schema}.latest_time VALUES (0);
`

/** Numbered from 1; the ledger has a row for each that was applied. */
export const MIGRATIONS: readonly string[] = [INBOX]

/** The tables of all migrations. */
export const TABLES = ['records', 'due', 'payloads', 'dead_letters', 'workers', 'latest_time'] as const
