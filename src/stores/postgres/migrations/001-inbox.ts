/**
 * The first tables.
 *
 * Most events are admitted, handed over and settled within milliseconds. So an event is written once, with its body, and
 * stays as it is; beside it stands a short row in `waiting`, which is what changes, and goes when the event is settled.
 * No row of the two large tables is updated on that way, and none of their indexes is entered twice.
 *
 * Indexes. The digests of messages stand in one unique index, the only one whose entries come in at random places; events
 * are unique within their message, so that their entries come in beside the latest ones, and a large table is no slower
 * to add to. `waiting` gives a message's first event by its primary key, and what is due by `waiting_turn`. The payloads
 * to be forgotten stand in `events_kept`, the identities in `events_bare`, the dead letters in their order.
 *
 * Autovacuum. Each event leaves a dead row in `waiting`, so that table is vacuumed often; it is small. Messages are updated
 * in place (their pages keep room, and no index has what changes). Inserted rows alone call for no vacuum
 * (`insert_scale_factor` is left as it is).
 */

export const INBOX = /* sql */ `
CREATE TABLE {schema}.messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL,
  -- The chat-app steps seen, as bits.
  steps integer NOT NULL,
  -- The greatest order handed over; and the same of reports that are not final, which alone make a final one late.
  handed text COLLATE "C" NOT NULL,
  handed_open text COLLATE "C" NOT NULL,
  -- Of the last lease.
  token bigint NOT NULL
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX messages_by_key ON {schema}.messages (key);

CREATE TABLE {schema}.events (
  message bigint NOT NULL,
  id bytea NOT NULL,
  ord text COLLATE "C" NOT NULL,
  final boolean NOT NULL,
  -- Milliseconds of the server's clock, from which its retention counts: it was admitted, or settled much later.
  since bigint NOT NULL,
  -- JSON, as bytes: jsonb refuses what a sender may well send. Null once nobody wants it.
  record bytea,
  -- Null once its time is over.
  raw bytea
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX events_by_id ON {schema}.events (message, id);
CREATE INDEX events_kept ON {schema}.events (since) WHERE raw IS NOT NULL;
CREATE INDEX events_bare ON {schema}.events (since) WHERE raw IS NULL;

-- Events that are not settled.
CREATE TABLE {schema}.waiting (
  message bigint NOT NULL,
  ord text COLLATE "C" NOT NULL,
  id bytea NOT NULL,
  final boolean NOT NULL,
  awaits integer NOT NULL,
  late boolean NOT NULL,
  replay boolean NOT NULL DEFAULT false,
  admitted bigint NOT NULL,
  -- Its own time: the end of a gap, the next try.
  due bigint NOT NULL,
  attempts integer NOT NULL,
  -- Of its last lease; 0 for none.
  token bigint NOT NULL,
  -- When something of its message may be claimed: on one event of each message, and null on its others.
  turn bigint,
  -- Somebody holds the message until that turn, for this event.
  leased boolean NOT NULL,
  PRIMARY KEY (message, ord, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX waiting_turn ON {schema}.waiting (turn, message) WHERE turn IS NOT NULL;

CREATE TABLE {schema}.dead_letters (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message bigint NOT NULL,
  id bytea NOT NULL,
  ord text COLLATE "C" NOT NULL,
  awaits integer NOT NULL,
  attempts integer NOT NULL,
  error bytea NOT NULL,
  ended_at bigint NOT NULL
);
CREATE INDEX dead_letters_by_time ON {schema}.dead_letters (ended_at, seq);
CREATE UNIQUE INDEX dead_letters_by_id ON {schema}.dead_letters (id, message);

-- One row: the latest time that was told, where the callers' clocks count. They may be set back.
CREATE TABLE {schema}.latest_time (told bigint NOT NULL);
INSERT INTO {schema}.latest_time VALUES (0);
`
