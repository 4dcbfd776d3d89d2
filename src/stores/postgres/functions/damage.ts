import type { Layout } from './layout.ts'

/**
 * What becomes of rows that somebody else has spoilt; see "Damage" in the store contract. Nothing here runs while all is well.
 *
 * `set_aside` makes a dead letter of an event that waits, whatever is left of it, and lets its message go on.
 *
 * `mend` looks at an event that a claim found wrong. Each of its id and its order stands in two places; an order begins with
 * 25 digits and mostly ends with the id, which tells the right one. Where nothing tells, the event is set aside. Returns the
 * place that was spoilt. Afterwards the claim finds the message in order, or one event less.
 *
 * `find_astray` walks, `most` rows at a time, through what waits and through the dead letters, for what no verb would meet:
 * a message whose row is gone, one that is due no more or in a time that no retry lasts, dead letters that belong to no
 * event. Returns a row for each, and one without place that says from where to go on.
 *
 * `is_order` tells an order by its 25 digits, which for most begin with a time: none is ten years ahead.
 *
 * `mended_token` is a token that is greater than any that could still settle something of this message. One that is beyond
 * 2^52, or negative, was not counted: then it begins anew at the time, which no honest one reaches.
 */
export const damage = (layout: Layout): string => /* sql */ `
CREATE OR REPLACE FUNCTION {schema}.is_order_{set}(ord text) RETURNS boolean LANGUAGE sql STABLE AS $messaging_webhooks$
  SELECT ord OPERATOR(pg_catalog.~) '^[0-9]{25}'
    AND ord COLLATE pg_catalog."C" < pg_catalog.lpad(
      ((pg_catalog.date_part('epoch', pg_catalog.statement_timestamp()) + 315360000)::bigint)::text, 12, '0'
    ) COLLATE pg_catalog."C"
$messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.mended_token_{set}(message_id bigint, known bigint, now_ms bigint) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
  SELECT greatest(
    CASE WHEN known BETWEEN 0 AND 4503599627370496 THEN known ELSE now_ms END,
    (SELECT max(w.token) FROM {schema}.waiting w WHERE w.message = message_id AND w.token BETWEEN 0 AND 4503599627370496)
  );
$messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.make_due_{set}(message_id bigint, now_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
BEGIN
  UPDATE {schema}.waiting w SET turn = NULL, leased = false WHERE w.message = message_id AND (w.leased OR num_nonnulls(w.turn) = 1);
  UPDATE {schema}.waiting w SET turn = now_ms WHERE (w.message, w.ord, w.id) = (
    SELECT f.message, f.ord, f.id FROM {schema}.waiting f WHERE f.message = message_id ORDER BY f.ord, f.id LIMIT 1
  );
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.bury_{set}(
  message_id bigint, of_id bytea, of_ord text, awaits integer, attempts integer, error bytea, now_ms bigint
) RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
BEGIN
  LOOP
    INSERT INTO {schema}.dead_letters (message, id, ord, awaits, attempts, error, ended_at)
    VALUES (message_id, of_id, of_ord, awaits, attempts, error, now_ms) ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    -- One that was there already, or one that has a number that was not its turn: then the next is free.
    DELETE FROM {schema}.dead_letters d WHERE d.message = message_id AND d.id = of_id;
  END LOOP;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.set_aside_{set}(message_id bigint, of_id bytea, of_ord text, place text, now_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
DECLARE
  was record;
BEGIN
  SELECT w.awaits, w.attempts INTO was FROM {schema}.waiting w
  WHERE w.message = message_id AND w.id = of_id AND w.ord = of_ord;
  DELETE FROM {schema}.waiting w WHERE w.message = message_id AND w.id = of_id;
  -- The identity is known all the same, so a repetition is one.
  ${layout.keepIdentity}
  PERFORM {schema}.bury_{set}(
    message_id, of_id, of_ord, was.awaits, CASE WHEN was.attempts BETWEEN 0 AND 1000000 THEN was.attempts ELSE 0 END,
    convert_to('The store could not read ' || place || ' of this event.', 'UTF8'), now_ms
  );
  PERFORM {schema}.make_due_{set}(message_id, now_ms);
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.mend_{set}(message_id bigint, of_ord text, of_id bytea, now_ms bigint, OUT place text, OUT is_dead boolean)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $messaging_webhooks$
DECLARE
  known record;
  was record;
  kept record;
  other_id bytea;
BEGIN
  is_dead := false;
  SELECT m.* INTO known FROM {schema}.messages m WHERE m.id = message_id;
  SELECT w.* INTO was FROM {schema}.waiting w WHERE w.message = message_id AND w.ord = of_ord AND w.id = of_id;
  SELECT v.ord, v.raw IS NULL AS is_bare, v.record IS NULL AS is_void INTO kept
  FROM {schema}.events v WHERE v.message = message_id AND v.id = of_id;
  IF NOT FOUND THEN
    -- One of the two ids is wrong. An event of no message is the only one there.
    SELECT v.id INTO other_id FROM {schema}.events v
    WHERE v.message = message_id AND v.ord = of_ord
      AND NOT EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = message_id AND w.id = v.id)
      AND NOT EXISTS (SELECT FROM {schema}.dead_letters d WHERE d.message = message_id AND d.id = v.id)
    LIMIT 1;
    IF NOT FOUND THEN
      place := 'events';
    ELSIF known.key = of_id OR (length(of_id) > 0 AND right(of_ord, 2 * length(of_id)) = encode(of_id, 'hex')) THEN
      UPDATE {schema}.events v SET id = of_id WHERE v.message = message_id AND v.id = other_id;
      place := 'events.id';
      RETURN;
    ELSE
      UPDATE {schema}.waiting w SET id = other_id WHERE w.message = message_id AND w.ord = of_ord AND w.id = of_id;
      place := 'waiting.id';
      RETURN;
    END IF;
  ELSE
    place := CASE WHEN kept.is_bare THEN 'events.raw' WHEN kept.is_void THEN 'events.record' END;
  END IF;
  IF place IS NOT NULL THEN
    PERFORM {schema}.set_aside_{set}(message_id, of_id, of_ord, place, now_ms);
    is_dead := true;
    RETURN;
  END IF;
  IF kept.ord <> of_ord THEN
    IF EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = message_id AND w.id = of_id AND w.ord = kept.ord) THEN
      DELETE FROM {schema}.waiting w WHERE w.message = message_id AND w.id = of_id AND w.ord = of_ord;
      PERFORM {schema}.make_due_{set}(message_id, now_ms);
      place := 'waiting';
    ELSIF known.key = of_id OR (
      {schema}.is_order_{set}(of_ord) AND (NOT {schema}.is_order_{set}(kept.ord) OR right(of_ord, 2 * length(of_id)) = encode(of_id, 'hex'))
    ) THEN
      -- What has no message has no order.
      UPDATE {schema}.events v SET ord = CASE WHEN known.key = of_id THEN '' ELSE of_ord END
      WHERE v.message = message_id AND v.id = of_id;
      UPDATE {schema}.waiting w SET ord = '' WHERE known.key = of_id AND w.message = message_id AND w.id = of_id;
      place := 'events.ord';
    ELSE
      UPDATE {schema}.events v SET ord = '' WHERE NOT {schema}.is_order_{set}(kept.ord) AND v.message = message_id AND v.id = of_id;
      UPDATE {schema}.waiting w SET ord = CASE WHEN {schema}.is_order_{set}(kept.ord) THEN kept.ord ELSE '' END
      WHERE w.message = message_id AND w.id = of_id AND w.ord = of_ord;
      place := 'waiting.ord';
    END IF;
    RETURN;
  END IF;
  IF was.attempts NOT BETWEEN 0 AND 1000000 THEN
    UPDATE {schema}.waiting w SET attempts = 0 WHERE w.message = message_id AND w.ord = of_ord AND w.id = of_id;
    place := 'waiting.attempts';
  ELSE
    place := CASE WHEN known.token BETWEEN was.token AND 4503599627370496 AND known.token >= 0
      THEN 'waiting.token' ELSE 'messages.token' END;
  END IF;
  UPDATE {schema}.messages m SET token = {schema}.mended_token_{set}(message_id, known.token, now_ms) WHERE m.id = message_id;
  UPDATE {schema}.waiting w SET token = 0 WHERE w.message = message_id AND w.token NOT BETWEEN 0 AND 4503599627370496;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.find_astray_{set}(
  now_ms bigint, after_message bigint, after_seq bigint, most integer, OUT place text, OUT key text,
  OUT next_message bigint, OUT next_seq bigint
) RETURNS SETOF record LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp${layout.byIndex} AS $messaging_webhooks$
#variable_conflict use_column
DECLARE
  -- No retry, gap or lease lasts ten years.
  last_turn bigint := now_ms + 316224000000;
  astray record;
  known record;
  was_id bytea;
  last_message bigint;
  last_seq bigint;
  new_number bigint;
  other record;
BEGIN
  -- Of two processes one is enough.
  IF NOT pg_try_advisory_xact_lock('{schema}.waiting'::regclass::oid::bigint) THEN
    RETURN QUERY SELECT NULL::text, NULL::text, after_message, after_seq;
    RETURN;
  END IF;
  SELECT CASE WHEN count(*) = most THEN max(s.message) END INTO last_message
  FROM (SELECT w.message FROM {schema}.waiting w WHERE w.message > after_message ORDER BY w.message LIMIT most) AS s;
  FOR astray IN
    SELECT s.message FROM (
      SELECT w.message, w.turn FROM {schema}.waiting w WHERE w.message > after_message ORDER BY w.message LIMIT most
    ) AS s
    GROUP BY s.message
    HAVING count(s.turn) = 0 OR max(s.turn) > last_turn
      OR NOT EXISTS (SELECT FROM {schema}.messages m WHERE m.id = s.message)
  LOOP
    IF NOT EXISTS (SELECT FROM {schema}.messages m WHERE m.id = astray.message) THEN
      -- Nothing tells its key. As an event of no message has its own id for one, these have that of the first.
      SELECT w.id INTO was_id FROM {schema}.waiting w WHERE w.message = astray.message ORDER BY w.ord, w.id LIMIT 1;
      LOOP
        INSERT INTO {schema}.messages (key, steps, handed, handed_open, token)
        VALUES (was_id, 0, '', '', {schema}.mended_token_{set}(astray.message, -1, now_ms)) ON CONFLICT DO NOTHING
        RETURNING id INTO new_number;
        EXIT WHEN FOUND;
        was_id := substring(sha256(was_id || int8send(astray.message)) FOR 16);
      END LOOP;
      UPDATE {schema}.waiting w SET message = new_number WHERE w.message = astray.message;
      UPDATE {schema}.events v SET message = new_number WHERE v.message = astray.message;
      UPDATE {schema}.dead_letters d SET message = new_number WHERE d.message = astray.message;
      PERFORM {schema}.make_due_{set}(new_number, now_ms);
      RETURN QUERY SELECT 'messages'::text, encode(was_id, 'hex'), NULL::bigint, NULL::bigint;
      CONTINUE;
    END IF;
    -- What somebody works with is looked at the next time.
    SELECT m.key INTO known FROM {schema}.messages m WHERE m.id = astray.message FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    CONTINUE WHEN NOT EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = astray.message)
      OR EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = astray.message AND w.turn + 0 <= last_turn);
    PERFORM {schema}.make_due_{set}(astray.message, now_ms);
    RETURN QUERY SELECT 'waiting.turn'::text, encode(known.key, 'hex'), NULL::bigint, NULL::bigint;
  END LOOP;

  SELECT CASE WHEN count(*) = most THEN max(s.seq) END INTO last_seq
  FROM (SELECT d.seq FROM {schema}.dead_letters d WHERE d.seq > after_seq ORDER BY d.seq LIMIT most) AS s;
  FOR astray IN
    SELECT d.*, v.id IS NULL AS is_lost
    FROM (SELECT * FROM {schema}.dead_letters WHERE seq > after_seq ORDER BY seq LIMIT most) AS d
      LEFT JOIN {schema}.events v ON v.message = d.message AND v.id = d.id
    WHERE v.id IS NULL OR d.ended_at NOT BETWEEN 1 AND now_ms + 86400000
  LOOP
    IF astray.ended_at NOT BETWEEN 1 AND now_ms + 86400000 THEN
      UPDATE {schema}.dead_letters d SET ended_at = now_ms WHERE d.seq = astray.seq;
      RETURN QUERY SELECT 'dead_letters.ended_at'::text, encode(astray.id, 'hex'), NULL::bigint, NULL::bigint;
    END IF;
    CONTINUE WHEN NOT astray.is_lost;
    RETURN QUERY SELECT 'dead_letters'::text, encode(astray.id, 'hex'), NULL::bigint, NULL::bigint;
    IF EXISTS (
      SELECT FROM {schema}.dead_letters d JOIN {schema}.events v ON v.message = d.message AND v.id = d.id
      WHERE d.id = astray.id AND d.seq <> astray.seq
    ) THEN
      DELETE FROM {schema}.dead_letters d WHERE d.seq = astray.seq;
      CONTINUE;
    END IF;
    SELECT v.id INTO other FROM {schema}.events v
    WHERE v.message = astray.message AND v.ord = astray.ord
      AND NOT EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = v.message AND w.id = v.id)
      AND NOT EXISTS (SELECT FROM {schema}.dead_letters d WHERE d.message = v.message AND d.id = v.id)
    LIMIT 1;
    IF NOT FOUND THEN
      INSERT INTO {schema}.events (message, id, ord, final, since) VALUES (astray.message, astray.id, '', false, now_ms);
    ELSIF (length(astray.id) > 0 AND right(astray.ord, 2 * length(astray.id)) = encode(astray.id, 'hex'))
      OR EXISTS (SELECT FROM {schema}.messages m WHERE m.id = astray.message AND m.key = astray.id)
    THEN
      UPDATE {schema}.events v SET id = astray.id WHERE v.message = astray.message AND v.id = other.id;
    ELSE
      UPDATE {schema}.dead_letters d SET id = other.id WHERE d.seq = astray.seq;
    END IF;
  END LOOP;
  RETURN QUERY SELECT NULL::text, NULL::text, last_message, last_seq;
END $messaging_webhooks$;
`
