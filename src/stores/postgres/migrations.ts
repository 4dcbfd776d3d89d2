/** The tables, by version. {schema} is the name of the schema. */
import { EXACT } from '../sql/tables.ts'

/**
 * The number of a record grows with time, so the keys of the other tables are appended in order, and retention needs no index
 * of its own. Digests of messages are in one unique index, the only one with entries at random positions. Pages of records stay
 * half free: most records are written again within milliseconds, and a new version in the same page needs no index entries and
 * less log.
 */
const INBOX = /* sql */ `
CREATE TABLE {schema}.records (
  -- The time of the first event or send of the message in ms, and six more digits.
  number bigint PRIMARY KEY,
  key bytea NOT NULL,
  -- Changes with each write.
  version bigint NOT NULL CHECK (version ${EXACT}),
  -- See codec.ts. The reports have a column of their own, because most writes do not change them.
  state bytea NOT NULL,
  reports bytea NOT NULL,
  -- The key of its message, if this is an overflow record.
  of bytea,
  send bytea,
  sent_at bigint CHECK (sent_at ${EXACT}),
  overdue_at bigint CHECK (overdue_at ${EXACT}),
  -- The start of a pending send; see pendingMark.
  pending_since bigint CHECK (pending_since ${EXACT}),
  CHECK (sent_at IS NOT NULL OR (send IS NULL AND overdue_at IS NULL))
) WITH (fillfactor = 55, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX records_by_key ON {schema}.records (key);
CREATE INDEX records_of ON {schema}.records (of) WHERE of IS NOT NULL;
CREATE INDEX records_sent ON {schema}.records (sent_at, number) WHERE sent_at IS NOT NULL;
CREATE INDEX records_overdue ON {schema}.records (overdue_at) WHERE overdue_at IS NOT NULL;
CREATE INDEX records_pending ON {schema}.records (pending_since) WHERE pending_since IS NOT NULL;

-- Records with unsettled events. Reserving and leasing a record changes no index entry.
CREATE TABLE {schema}.due (
  record bigint PRIMARY KEY,
  -- When the first event is due; not later than the end of the lease.
  at bigint NOT NULL CHECK (at ${EXACT}),
  -- The end of the lease, or of the reservation by the process that found it due.
  held_until bigint NOT NULL CHECK (held_until ${EXACT}),
  -- The worker that holds the lease.
  worker bigint,
  -- Number of unsettled events.
  waiting integer NOT NULL CHECK (waiting BETWEEN 0 AND 1000),
  -- The id of the first event without a lease: its payload is read with the record.
  first bytea
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
CREATE INDEX due_by_time ON {schema}.due (at);

CREATE TABLE {schema}.payloads (
  record bigint NOT NULL,
  id bytea NOT NULL,
  admitted_at bigint NOT NULL CHECK (admitted_at ${EXACT}),
  -- JSON, as bytes: jsonb refuses NUL and lone surrogates, which a callback may contain.
  event bytea,
  raw bytea,
  -- The error of a dead letter.
  error bytea,
  PRIMARY KEY (record, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX payloads_by_time ON {schema}.payloads (admitted_at);

CREATE TABLE {schema}.dead_letters (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id bytea NOT NULL,
  record bigint NOT NULL,
  died_at bigint NOT NULL CHECK (died_at ${EXACT})
);
CREATE UNIQUE INDEX dead_letters_by_id ON {schema}.dead_letters (id);
CREATE INDEX dead_letters_by_time ON {schema}.dead_letters (died_at, seq);

-- One row: the workers and their last heartbeats; see liveness.ts.
CREATE TABLE {schema}.workers (
  id integer PRIMARY KEY CHECK (id = 1),
  version bigint NOT NULL,
  list bytea NOT NULL
);
INSERT INTO {schema}.workers (id, version, list) VALUES (1, 0, '');
`

/** Numbered from 1. The ledger has a row for each that was applied. */
export const MIGRATIONS: readonly string[] = [INBOX]

export const TABLES = ['records', 'due', 'payloads', 'dead_letters', 'workers'] as const
