/**
 * The first tables.
 *
 * Indexes. The digests of messages stand in one unique index, the only one whose entries come in at random places; events
 * are unique within their message, so that their entries come in beside the latest ones, and a large table is no slower
 * to add to. `messages_due` is the queue: a message is in it while something of it waits. `events_waiting` gives a
 * message's first event, `events_ended` what is old enough to be forgotten, and the dead letters in their order.
 *
 * Bodies have a table of their own, for an event is updated twice and Postgres copies the whole row each time.
 *
 * Autovacuum. An event makes about five dead rows on its way, so the shares at which a table is vacuumed are a hundredth
 * of it instead of a fifth, which would be a million rows of five; the pages keep room, so that updates stay in them.
 * Inserted rows alone call for no vacuum (`insert_scale_factor` is left as it is).
 */
export const INBOX = /* sql */ `
CREATE TABLE {schema}.messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL,
  -- The chat-app steps seen, as bits.
  steps integer NOT NULL,
  -- The greatest order handed over; and the same of reports that are not final, which alone make a final one late.
  handed text COLLATE "C" NOT NULL DEFAULT '',
  handed_open text COLLATE "C" NOT NULL DEFAULT '',
  -- Of the last lease, and of the lease that somebody holds now; 0 for none.
  token bigint NOT NULL DEFAULT 0,
  lease_token bigint NOT NULL DEFAULT 0,
  -- Milliseconds of the server's clock. When something may be claimed: its first event is due, or its lease has run out.
  due bigint
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX messages_by_key ON {schema}.messages (key);
CREATE INDEX messages_due ON {schema}.messages (due, id) WHERE due IS NOT NULL;

CREATE TABLE {schema}.events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message bigint NOT NULL,
  id bytea NOT NULL,
  ord text COLLATE "C" NOT NULL,
  final boolean NOT NULL,
  awaits integer NOT NULL,
  due bigint NOT NULL,
  late boolean NOT NULL,
  replay boolean NOT NULL DEFAULT false,
  attempts integer NOT NULL DEFAULT 0,
  token bigint NOT NULL DEFAULT 0,
  -- 0 waits, 1 settled, 2 dead, 3 settled and only its identity kept.
  state smallint NOT NULL DEFAULT 0,
  ended_at bigint,
  error bytea
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX events_by_id ON {schema}.events (message, id);
CREATE INDEX events_waiting ON {schema}.events (message, ord, seq) WHERE state = 0;
CREATE INDEX events_ended ON {schema}.events (state, ended_at, seq) WHERE state <> 0;
CREATE INDEX events_dead ON {schema}.events (id) WHERE state = 2;

CREATE TABLE {schema}.bodies (
  seq bigint PRIMARY KEY,
  -- JSON, as bytes: jsonb refuses what a sender may well send.
  record bytea NOT NULL,
  -- Null once its time is over, where the record is still wanted for the newest state.
  raw bytea
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- One row: the latest time that was told, where the callers' clocks count. They may be set back.
CREATE TABLE {schema}.latest_time (told bigint NOT NULL);
INSERT INTO {schema}.latest_time VALUES (0);
`
