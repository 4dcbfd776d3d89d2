import type { Layout } from './layout.ts'

/**
 * `expect` writes down what was sent. Arrays of one entry a message, sorted by key so that two calls lock in one order: keys (hex),
 * times of the sends, how long from now each will be overdue (-1 for never), and what is expected (hex). Returns, for each, 1, or 0
 * where it is known. What waited for it is due.
 *
 * `overdue` decides about messages whose time is over: one that has an end is asked for no more; of any other its event is
 * admitted, by `admit`, whose arrays these are. Returns, for each, 1 where it was. Whoever decides holds the lock on the message.
 */
export const expect = (layout: Layout): string => /* sql */ `
CREATE OR REPLACE FUNCTION {schema}.expect_{set}(
  now_ms bigint, keys text[], sents bigint[], aheads bigint[], texts text[], OUT answers integer[]
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $messaging_webhooks$
DECLARE
  e record;
  message_id bigint;
BEGIN
  answers := '{}';
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  FOR e IN
    SELECT decode(u.key, 'hex') AS key, u.sent, CASE WHEN u.ahead >= 0 THEN greatest(now_ms + u.ahead, 1) END AS overdue,
      decode(u.expected, 'hex') AS expected
    FROM unnest(keys, sents, aheads, texts) AS u (key, sent, ahead, expected)
  LOOP
    INSERT INTO {schema}.messages AS m (key, steps, handed, handed_open, token, sent_at, overdue_at, expected${layout.firstColumn})
    VALUES (e.key, 8, '', '', 0, e.sent, e.overdue, e.expected${layout.firstValue})
    ON CONFLICT (key) DO UPDATE SET steps = m.steps | 8, sent_at = excluded.sent_at, overdue_at = excluded.overdue_at,
      expected = excluded.expected WHERE m.expected IS NULL
    RETURNING m.id INTO message_id;
    IF NOT FOUND THEN
      answers := answers || 0;
      CONTINUE;
    END IF;
    -- A claim looks who is the first, and whether it still waits for a step.
    UPDATE {schema}.waiting w SET turn = now_ms
    WHERE w.message = message_id AND num_nonnulls(w.turn) = 1 AND w.turn + 0 > now_ms AND NOT w.leased;
    answers := answers || 1;
  END LOOP;
END $messaging_webhooks$;

CREATE OR REPLACE FUNCTION {schema}.overdue_{set}(
  now_ms bigint, keys text[], ids text[], bytes bytea, starts integer[], record_ends integer[], body_ends integer[],
  OUT answers integer[]
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $messaging_webhooks$
DECLARE
  e record;
  known record;
  admitted integer[];
BEGIN
  answers := '{}';
  FOR e IN
    SELECT u.key, u.id, u.start, u.record_end, u.body_end
    FROM unnest(keys, ids, starts, record_ends, body_ends) AS u (key, id, start, record_end, body_end)
  LOOP
    SELECT m.id, m.overdue_at INTO known FROM {schema}.messages m WHERE m.key = decode(e.key, 'hex') FOR UPDATE;
    IF NOT FOUND OR (known.overdue_at > 0) IS NOT TRUE THEN
      answers := answers || 0;
      CONTINUE;
    END IF;
    PERFORM FROM {schema}.events v
    WHERE v.message = known.id AND v.ord <> '' AND (v.final OR substr(v.ord, 13, 1) >= '3') LIMIT 1;
    IF FOUND THEN
      UPDATE {schema}.messages m SET overdue_at = NULL WHERE m.id = known.id;
      answers := answers || 0;
      CONTINUE;
    END IF;
    UPDATE {schema}.messages m SET overdue_at = 0 WHERE m.id = known.id;
    SELECT a.admissions INTO admitted FROM {schema}.admit_{set}(
      now_ms, now_ms, 0, ARRAY[e.key], ARRAY[e.id], ARRAY['']::text[], ARRAY[0], ARRAY[0], ARRAY[0], ARRAY[0]::bigint[], ARRAY[0],
      bytes, ARRAY[e.start], ARRAY[e.record_end], ARRAY[e.body_end]
    ) AS a;
    answers := answers || CASE WHEN admitted[1] > 0 THEN 1 ELSE 0 END;
  END LOOP;
END $messaging_webhooks$;
`
