/**
 * Events in partitions by time, for tables that are too large to be forgotten row by row.
 *
 * `events` is partitioned by `since`, into parts of so many days (`partitioning.days`), made some days ahead. Each part has two
 * tables: events that still have their payload, and those of which only the identity is kept, as they become when their time is over.
 * When the first is empty it is dropped; when the identities have had their time, the part is. What came in where no part was
 * made yet is in `events_rest`, so that nothing depends on when parts are made. `events_before` is the table of the time before,
 * a part that ends where the others begin.
 *
 * The way there, on a store in use. No row is copied. That `events_before` ends at the `edge` must be proven before it becomes a
 * part, and reading all of it takes its time; so a constraint comes first, which is validated while the store works. Until then
 * a trigger has everything keep the constraint: whatever becomes of the migration, no admission fails by it, even if nobody
 * takes it up again. Each step finds out what was done.
 */
import { FUNCTIONS, ofSet } from './functions/set.ts'
import { inSchema, SERVER_NOW } from './sql-text.ts'

const EVENTS = 'to_regclass($messaging_webhooks_part$ {schema}.events $messaging_webhooks_part$)'
const EDGE = /* sql */ `(
    SELECT substring(pg_get_constraintdef(c.oid) FROM '\\d{9,}')::bigint FROM pg_constraint c
    WHERE c.conrelid = ${EVENTS} AND c.conname = 'events_end'
  )`
const IS_PLAIN = /* sql */ `EXISTS (SELECT FROM pg_class c WHERE c.oid = ${EVENTS} AND c.relkind = 'r')`

/** From the next edge on there will be parts; where there are no events yet, from the last one. Waits for who works with events. */
const BEGIN = /* sql */ `
DO $messaging_webhooks$
DECLARE
  width bigint := {days} * 86400000::bigint;
  edge bigint := (${SERVER_NOW} / width) * width;
BEGIN
  IF NOT ${IS_PLAIN} OR ${EDGE} IS NOT NULL THEN
    RETURN;
  END IF;
  LOCK TABLE {schema}.events IN ACCESS EXCLUSIVE MODE;
  -- Somebody else was quicker.
  IF NOT ${IS_PLAIN} OR ${EDGE} IS NOT NULL THEN
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM {schema}.events) THEN
    edge := edge + width;
  END IF;
  CREATE OR REPLACE FUNCTION {schema}.end_events() RETURNS trigger LANGUAGE plpgsql AS $messaging_webhooks_part$
  BEGIN
    NEW.since := TG_ARGV[0]::bigint - 1;
    RETURN NEW;
  END $messaging_webhooks_part$;
  EXECUTE replace($messaging_webhooks_part$
    CREATE TRIGGER end_events BEFORE INSERT OR UPDATE OF since ON {schema}.events FOR EACH ROW
      WHEN (NEW.since >= :edge) EXECUTE FUNCTION {schema}.end_events(:edge);
    ALTER TABLE {schema}.events ADD CONSTRAINT events_end CHECK (since < :edge) NOT VALID;
  $messaging_webhooks_part$, ':edge', edge::text);
END $messaging_webhooks$;
`

/** What says that it is of a time to come, of which the constraint knows nothing yet. The trigger sets its time. */
const KEEP = /* sql */ `
DO $messaging_webhooks$
DECLARE
  edge bigint;
BEGIN
  LOCK TABLE {schema}.events IN ROW EXCLUSIVE MODE;
  edge := ${EDGE};
  IF ${IS_PLAIN} AND edge IS NOT NULL THEN
    UPDATE {schema}.events SET since = since WHERE raw IS NOT NULL AND since >= edge;
    UPDATE {schema}.events SET since = since WHERE raw IS NULL AND since >= edge;
  END IF;
END $messaging_webhooks$;
`

/** Reads the whole table, beside all others who work with it. */
const VALIDATE = /* sql */ `
DO $messaging_webhooks$
BEGIN
  IF NOT ${IS_PLAIN} THEN
    RETURN;
  END IF;
  LOCK TABLE {schema}.events IN SHARE UPDATE EXCLUSIVE MODE;
  -- Somebody else may have been quicker.
  IF ${IS_PLAIN} AND ${EDGE} IS NOT NULL THEN
    ALTER TABLE {schema}.events VALIDATE CONSTRAINT events_end;
  END IF;
END $messaging_webhooks$;
`

/** The table becomes a part, which takes a moment; admissions wait meanwhile. Whoever has rights on it has them on what is new. */
const SWAP = /* sql */ `
DO $messaging_webhooks$
DECLARE
  edge bigint;
  g record;
BEGIN
  IF NOT ${IS_PLAIN} THEN
    RETURN;
  END IF;
  -- As an admission does: messages first.
  LOCK TABLE {schema}.messages IN ACCESS EXCLUSIVE MODE;
  LOCK TABLE {schema}.events IN ACCESS EXCLUSIVE MODE;
  IF NOT ${IS_PLAIN} THEN
    RETURN;
  END IF;
  edge := ${EDGE};
  ALTER TABLE {schema}.events RENAME TO events_before;
  CREATE TABLE {schema}.events (LIKE {schema}.events_before) PARTITION BY RANGE (since);
  EXECUTE replace($messaging_webhooks_part$
    ALTER TABLE {schema}.events ATTACH PARTITION {schema}.events_before FOR VALUES FROM (MINVALUE) TO (:edge)
  $messaging_webhooks_part$, ':edge', edge::text);
  DROP TRIGGER end_events ON {schema}.events_before;
  DROP FUNCTION {schema}.end_events();
  ALTER TABLE {schema}.events_before DROP CONSTRAINT events_end;
  CREATE TABLE {schema}.events_rest PARTITION OF {schema}.events DEFAULT
    WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
  CREATE UNIQUE INDEX ON {schema}.events_rest (message, id);
  CREATE INDEX ON {schema}.events_rest (since) WHERE raw IS NOT NULL;
  CREATE INDEX ON {schema}.events_rest (since) WHERE raw IS NULL;
  -- When the first event of a message came; 0 where that is not known.
  ALTER TABLE {schema}.messages ADD COLUMN first_since bigint NOT NULL DEFAULT 0;
  CREATE TABLE {schema}.partitioning (days integer NOT NULL);
  INSERT INTO {schema}.partitioning VALUES ({days});
  FOR g IN
    SELECT c.relname, a.privilege_type,
      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_class b JOIN pg_class c ON c.relnamespace = b.relnamespace AND c.relname IN ('events', 'events_rest', 'partitioning')
      CROSS JOIN LATERAL aclexplode(b.relacl) a
    WHERE b.oid = to_regclass($messaging_webhooks_part$ {schema}.events_before $messaging_webhooks_part$)
      AND a.grantee <> b.relowner AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  LOOP
    EXECUTE replace(replace(replace($messaging_webhooks_part$
      GRANT :right ON {schema}.:table TO :role
    $messaging_webhooks_part$, ':right', g.privilege_type), ':table', g.relname), ':role', g.grantee);
  END LOOP;
END $messaging_webhooks$;
`

/** A migration to partitions, step by step; each is a transaction, and the second but last may take long. */
export function partitionSteps(schema: string, days: number, functions = FUNCTIONS): readonly string[] {
  const swap = SWAP + `\n-- Functions ${functions.number}, for partitions\n` + ofSet(functions.partitioned, functions)
  return [BEGIN, KEEP, VALIDATE, swap].map((step) => inSchema(step.replaceAll('{days}', String(days)), schema))
}
