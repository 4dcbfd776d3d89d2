/**
 * Upkeep of events that stand in partitions; see `partitioning.ts` for what these are. Whoever works on the store calls it, all
 * the time; one works and the others pass. They need not own the tables: it runs with the rights of whoever made it, for
 * whoever may delete events.
 *
 * `parts` are the partitions that have an end, `parted_as` names what belongs to one.
 *
 * `upkeep` does one thing, in a transaction of its own, and says what, or null where nothing is to be done:
 * `created` a partition ahead; `bared` (`touched` rows) events whose payloads are no longer wanted, so that a partition holds none; `emptied` it of
 * them, with the table that they were in; `spared` what is not settled from a partition whose time is over; `dropped` that; `forgotten` what
 * came in where no partition was. `busy` where somebody else works with the tables: it waits for no longer than 100 ms,
 * as admissions wait behind it meanwhile. Payloads are forgotten up to `payloads_before`, identities up to
 * `identities_before`; where no payload goes before its identity, none is looked at, and a partition goes as a whole. `walked`
 * is how far the payloads of a partition were gone through, to go on from there.
 *
 * `forget_messages` looks at `most` messages from `after` on for those that have no event left. These came one after the
 * other, so each partition is asked once for what it has between the first and the last of them: most have nothing. (To ask
 * it for each message took four times as long as all other upkeep, with 31 days of 10,000,000 events.)
 *
 * `mend_ahead` is for what says that it was settled in more than a day.
 */
export const UPKEEP = /* sql */ `
CREATE OR REPLACE FUNCTION {schema}.parts_{set}(OUT name text, OUT from_ms bigint, OUT to_ms bigint, OUT is_whole boolean)
RETURNS SETOF record LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
  SELECT c.relname::text, CASE WHEN b.bound[1] = 'MINVALUE' THEN -9223372036854775808 ELSE b.bound[1]::bigint END,
    b.bound[2]::bigint, c.relkind = 'p'
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''?([^'')]*)''?\\) TO \\(''?([^'')]*)''?\\)') AS b (bound)
  WHERE i.inhparent = to_regclass($messaging_webhooks_part$ {schema}.events $messaging_webhooks_part$) AND b.bound IS NOT NULL;
$messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.parted_as_{set}(statement text, part text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
  SELECT replace(replace(replace(statement, '<part>', quote_ident(part)), '<full>', quote_ident(part || '_full')),
    '<bare>', quote_ident(part || '_bare'));
$messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.create_part_{set}(from_ms bigint, to_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
BEGIN
  -- What is moved from one to the other leaves dead rows, which go with their table; nothing is to clean up before.
  EXECUTE replace(replace({schema}.parted_as_{set}($messaging_webhooks_part$
    CREATE TABLE {schema}.<part> (LIKE {schema}.events) PARTITION BY LIST ((raw IS NULL));
    CREATE TABLE {schema}.<full> PARTITION OF {schema}.<part> FOR VALUES IN (false) WITH (autovacuum_enabled = off);
    CREATE TABLE {schema}.<bare> PARTITION OF {schema}.<part> (CHECK (since >= :from AND since < :to)) FOR VALUES IN (true);
    CREATE UNIQUE INDEX ON {schema}.<full> (message, id);
    CREATE INDEX ON {schema}.<full> (since) WHERE raw IS NOT NULL;
    CREATE UNIQUE INDEX ON {schema}.<bare> (message, id);
    CREATE INDEX ON {schema}.<bare> (since) WHERE raw IS NULL;
    ALTER TABLE {schema}.events ATTACH PARTITION {schema}.<part> FOR VALUES FROM (:from) TO (:to);
  $messaging_webhooks_part$, 'events_' || to_char(to_timestamp(from_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD')),
    ':from', from_ms::text), ':to', to_ms::text);
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.bare_{set}(
  source text, target text, now_ms bigint, after_ms bigint, before_ms bigint, most integer, OUT touched bigint, OUT walked bigint
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $messaging_webhooks$
BEGIN
  EXECUTE replace(replace(replace(replace($messaging_webhooks_part$
    WITH old AS MATERIALIZED (
      SELECT message, id, ord, final, since FROM {schema}.<source> WHERE raw IS NOT NULL AND since >= :after AND since < :before
      ORDER BY since LIMIT $2 FOR UPDATE SKIP LOCKED
    ), judged AS MATERIALIZED (
      SELECT old.message, old.id, old.since,
        EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = old.message AND w.id = old.id)
          OR EXISTS (SELECT FROM {schema}.dead_letters d WHERE d.message = old.message AND d.id = old.id) AS unsettled,
        -- The record goes too, where a later one was handed over and the latest state does not need it.
        old.ord <> '' AND (old.final OR NOT coalesce(old.ord < m.handed AND {schema}.is_order_{set}(m.handed), false)) AS needed
      FROM old LEFT JOIN {schema}.messages m ON m.id = old.message
    ), emptied AS (
      UPDATE {schema}.<target> e SET raw = NULL, record = CASE WHEN judged.needed THEN e.record END
      FROM judged WHERE e.message = judged.message AND e.id = judged.id AND e.raw IS NOT NULL AND NOT judged.unsettled
    ), spared AS (
      UPDATE {schema}.events e SET since = $1 FROM judged
      WHERE e.message = judged.message AND e.id = judged.id AND judged.unsettled AND e.since >= :after AND e.since < :before
    ) SELECT count(*), max(since) FROM judged
  $messaging_webhooks_part$, '<source>', quote_ident(source)), '<target>', quote_ident(target)),
    ':after', quote_literal(after_ms)), ':before', quote_literal(before_ms))
  INTO touched, walked USING now_ms, most;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.unsettled_{set}(from_ms bigint, to_ms bigint, now_ms bigint, most integer)
RETURNS TABLE (message bigint, id bytea, since bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $messaging_webhooks$
BEGIN
  RETURN QUERY EXECUTE replace(replace($messaging_webhooks_part$
    SELECT e.message, e.id, e.since FROM (
      SELECT w.message, w.id FROM {schema}.waiting w WHERE w.admitted < :to OR w.admitted > $1 + 86400000
      UNION ALL SELECT d.message, d.id FROM {schema}.dead_letters d
    ) AS k JOIN {schema}.events e ON e.message = k.message AND e.id = k.id
    WHERE e.since >= :from AND e.since < :to LIMIT $2
  $messaging_webhooks_part$, ':from', quote_literal(from_ms)), ':to', quote_literal(to_ms)) USING now_ms, most;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.spare_{set}(of_message bigint, of_id bytea, of_since bigint, now_ms bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
  UPDATE {schema}.events e SET since = now_ms WHERE e.message = of_message AND e.id = of_id AND e.since = of_since RETURNING true;
$messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.upkeep_{set}(
  now_ms bigint, payloads_before bigint, identities_before bigint, after_ms bigint, most integer,
  OUT done text, OUT touched bigint, OUT walked bigint
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET lock_timeout = '100ms' AS $messaging_webhooks$
DECLARE
  caller text := CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END;
  width bigint;
  store oid := to_regclass($messaging_webhooks_part$ {schema}.events $messaging_webhooks_part$);
  part record;
  is_there boolean;
BEGIN
  SELECT s.days * 86400000::bigint INTO width FROM {schema}.partitioning s;
  IF NOT has_table_privilege(caller, store, 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'Who may not delete events may not have them dropped.';
  END IF;
  touched := 0;
  -- Of several processes one is enough.
  IF NOT pg_try_advisory_xact_lock(store::bigint) THEN
    RETURN;
  END IF;

  FOR n IN now_ms / width .. now_ms / width + 3 LOOP
    CONTINUE WHEN EXISTS (SELECT FROM {schema}.parts_{set}() p WHERE p.from_ms < (n + 1) * width AND p.to_ms > n * width);
    -- What came in where none was stays there, and is forgotten row by row; and it is looked through when one is made.
    CONTINUE WHEN EXISTS (SELECT FROM {schema}.events_rest e WHERE e.raw IS NOT NULL AND e.since >= n * width AND e.since < (n + 1) * width)
      OR EXISTS (SELECT FROM {schema}.events_rest e WHERE e.raw IS NULL AND e.since >= n * width AND e.since < (n + 1) * width);
    PERFORM {schema}.create_part_{set}(n * width, (n + 1) * width);
    done := 'created';
    RETURN;
  END LOOP;

  FOR part IN
    SELECT p.name, p.from_ms, p.to_ms, p.is_whole FROM {schema}.parts_{set}() p WHERE p.to_ms <= identities_before ORDER BY p.to_ms
  LOOP
    WITH kept AS MATERIALIZED (
      SELECT * FROM {schema}.unsettled_{set}(part.from_ms, part.to_ms, now_ms, most)
    ) SELECT count({schema}.spare_{set}(kept.message, kept.id, kept.since, now_ms)) INTO touched FROM kept;
    IF touched > 0 THEN
      done := 'spared';
      RETURN;
    END IF;
    LOCK TABLE ONLY {schema}.events IN ACCESS EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM {schema}.unsettled_{set}(part.from_ms, part.to_ms, now_ms, 1)) THEN
      EXECUTE {schema}.parted_as_{set}('DROP TABLE {schema}.<part>', part.name);
    END IF;
    done := 'dropped';
    RETURN;
  END LOOP;

  FOR part IN
    SELECT p.name, p.from_ms, p.to_ms, p.is_whole FROM {schema}.parts_{set}() p
    WHERE p.from_ms < payloads_before AND payloads_before > identities_before AND (p.is_whole OR p.name = 'events_before')
    UNION ALL SELECT 'events_rest', -9223372036854775808, 9223372036854775807, false
    ORDER BY 3
  LOOP
    SELECT b.touched, b.walked INTO touched, walked FROM {schema}.bare_{set}(
      CASE WHEN part.is_whole THEN part.name || '_full' ELSE part.name END, part.name, now_ms,
      CASE WHEN part.is_whole THEN greatest(part.from_ms, after_ms) ELSE part.from_ms END,
      least(part.to_ms, payloads_before), most
    ) AS b;
    IF touched > 0 THEN
      walked := CASE WHEN part.is_whole THEN walked END;
      done := 'bared';
      RETURN;
    END IF;
    CONTINUE WHEN NOT part.is_whole OR part.to_ms > payloads_before;
    EXECUTE {schema}.parted_as_{set}('SELECT EXISTS (SELECT FROM {schema}.<full> WHERE raw IS NOT NULL AND since >= $1)', part.name) INTO is_there USING part.from_ms;
    -- Somebody worked with a row when it was its turn.
    CONTINUE WHEN is_there;
    LOCK TABLE ONLY {schema}.events IN ACCESS EXCLUSIVE MODE;
    EXECUTE {schema}.parted_as_{set}('SELECT EXISTS (SELECT FROM {schema}.<full> WHERE raw IS NOT NULL AND since >= $1)', part.name) INTO is_there USING part.from_ms;
    IF NOT is_there THEN
      EXECUTE replace(replace({schema}.parted_as_{set}($messaging_webhooks_part$
        ALTER TABLE {schema}.events DETACH PARTITION {schema}.<part>;
        ALTER TABLE {schema}.<part> DETACH PARTITION {schema}.<bare>;
        DROP TABLE {schema}.<part>;
        ALTER TABLE {schema}.events ATTACH PARTITION {schema}.<bare> FOR VALUES FROM (:from) TO (:to);
      $messaging_webhooks_part$, part.name), ':from', part.from_ms::text), ':to', part.to_ms::text);
    END IF;
    done := 'emptied';
    RETURN;
  END LOOP;

  WITH old AS MATERIALIZED (
    SELECT e.message, e.id FROM {schema}.events_rest e WHERE e.raw IS NULL AND e.since < identities_before
    ORDER BY e.since LIMIT most FOR UPDATE SKIP LOCKED
  ) DELETE FROM {schema}.events_rest e USING old WHERE e.message = old.message AND e.id = old.id;
  GET DIAGNOSTICS touched = ROW_COUNT;
  IF touched > 0 THEN
    done := 'forgotten';
  END IF;
EXCEPTION WHEN lock_not_available OR check_violation THEN
  -- Or an event came in at this moment where a partition was to be.
  done := 'busy';
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.without_events_{set}(ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $messaging_webhooks$
BEGIN
  RETURN ARRAY(
    SELECT unnest(ids) EXCEPT
    SELECT e.message FROM {schema}.events e
    WHERE e.message BETWEEN (SELECT min(i) FROM unnest(ids) AS i) AND (SELECT max(i) FROM unnest(ids) AS i)
  );
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.forget_messages_{set}(
  after_id bigint, before_ms bigint, most integer, OUT forgotten bigint, OUT walked bigint
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $messaging_webhooks$
DECLARE
  -- Nothing tells when those of before were first seen, so they have their time when all of that is gone.
  least_ms bigint := CASE WHEN EXISTS (SELECT FROM {schema}.parts_{set}() p WHERE p.name = 'events_before') THEN 1 ELSE 0 END;
  ids bigint[];
BEGIN
  SELECT CASE WHEN count(*) = most AND bool_or(s.first_since BETWEEN least_ms AND before_ms - 1) THEN max(s.id) END,
    array_agg(s.id) FILTER (WHERE s.first_since BETWEEN least_ms AND before_ms - 1)
  INTO walked, ids
  FROM (SELECT m.id, m.first_since FROM {schema}.messages m WHERE m.id > after_id ORDER BY m.id LIMIT most) AS s;
  IF ids IS NULL THEN
    forgotten := 0;
    RETURN;
  END IF;
  ids := {schema}.without_events_{set}(ids);
  ids := ARRAY(SELECT m.id FROM {schema}.messages m WHERE m.id = ANY (ids) FOR UPDATE SKIP LOCKED);
  -- What was admitted just before is seen from here on.
  ids := {schema}.without_events_{set}(ids);
  DELETE FROM {schema}.messages m WHERE m.id = ANY (ids)
    AND NOT EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = m.id)
    AND (m.sent_at IS NULL OR (m.sent_at < before_ms AND coalesce(m.overdue_at, 0) <= 0));
  GET DIAGNOSTICS forgotten = ROW_COUNT;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.mend_ahead_{set}(now_ms bigint, most integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
DECLARE
  ahead record;
  mended bigint := 0;
BEGIN
  FOR ahead IN
    SELECT e.message, e.id, e.since FROM {schema}.events e WHERE e.since > now_ms + 86400000 ORDER BY e.since DESC LIMIT most
  LOOP
    PERFORM {schema}.spare_{set}(ahead.message, ahead.id, ahead.since, now_ms);
    mended := mended + 1;
  END LOOP;
  RETURN mended;
END $messaging_webhooks$;
`
