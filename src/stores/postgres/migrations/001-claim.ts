/**
 * Hands over, until lease_until, the first event of each message of which something is due, the longest due first, at most
 * `most`; but of none in `excluded` (keys, hex), and of none that somebody else has locked: what is due and locked is being
 * admitted or settled. Returns a row for each; and last, where something is due now or later, one without key whose
 * `ahead` says how long from now.
 */
export const CLAIM = /* sql */ `
CREATE FUNCTION {schema}.claim(now_ms bigint, lease_until bigint, excluded text[], most integer)
RETURNS TABLE (
  key text, id text, token bigint, attempt integer, late boolean, replay boolean, record text, raw text, ahead bigint
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_sort = off AS $messaging_webhooks$
#variable_conflict use_column
DECLARE
  excluded_keys bytea[] := ARRAY(SELECT decode(hex, 'hex') FROM unnest(excluded) AS hex);
  held record;
  turn_now record;
  head record;
  head_due bigint;
  is_stuck boolean;
  claimed integer := 0;
BEGIN
  LOOP
    is_stuck := true;
    FOR held IN
      SELECT m.* FROM {schema}.waiting w JOIN {schema}.messages m ON m.id = w.message
      WHERE w.turn <= now_ms AND m.key <> ALL (excluded_keys)
      ORDER BY w.turn, w.message LIMIT most - claimed FOR UPDATE OF m SKIP LOCKED
    LOOP
      -- Somebody may have been here just before it was locked.
      SELECT w.ord, w.id, w.turn INTO turn_now FROM {schema}.waiting w WHERE w.message = held.id AND num_nonnulls(w.turn) = 1;
      CONTINUE WHEN NOT FOUND OR turn_now.turn > now_ms;
      is_stuck := false;
      SELECT w.* INTO head FROM {schema}.waiting w WHERE w.message = held.id ORDER BY w.ord, w.id LIMIT 1;
      -- What waits for a step that was seen does not wait, unless it was tried already.
      head_due := CASE WHEN head.attempts = 0 AND held.steps & head.awaits <> 0 THEN least(head.due, now_ms) ELSE head.due END;
      IF turn_now.ord <> head.ord OR turn_now.id <> head.id THEN
        UPDATE {schema}.waiting w SET turn = NULL, leased = false
        WHERE w.message = held.id AND w.ord = turn_now.ord AND w.id = turn_now.id;
      END IF;
      IF head_due > now_ms THEN
        -- It stood in the queue earlier than need be: something newer came in behind a retry, say.
        UPDATE {schema}.waiting w SET turn = head_due, leased = false
        WHERE w.message = held.id AND w.ord = head.ord AND w.id = head.id;
        CONTINUE;
      END IF;
      UPDATE {schema}.waiting w SET turn = lease_until, leased = true, token = held.token + 1, attempts = w.attempts + 1
      WHERE w.message = held.id AND w.ord = head.ord AND w.id = head.id;
      UPDATE {schema}.messages m SET token = m.token + 1, handed = greatest(m.handed, head.ord),
        handed_open = CASE WHEN head.final THEN m.handed_open ELSE greatest(m.handed_open, head.ord) END
      WHERE m.id = held.id;
      claimed := claimed + 1;
      RETURN QUERY
        SELECT encode(held.key, 'hex'), encode(head.id, 'hex'), held.token + 1, head.attempts + 1, head.late, head.replay,
          encode(v.record, 'hex'), encode(v.raw, 'hex'), NULL::bigint
        FROM {schema}.events v WHERE v.message = held.id AND v.id = head.id;
    END LOOP;
    EXIT WHEN is_stuck OR claimed >= most;
  END LOOP;
  RETURN QUERY
    SELECT NULL::text, NULL::text, NULL::bigint, NULL::integer, NULL::boolean, NULL::boolean, NULL::text, NULL::text,
      w.turn - now_ms
    FROM {schema}.waiting w JOIN {schema}.messages m ON m.id = w.message
    WHERE w.turn IS NOT NULL AND m.key <> ALL (excluded_keys) ORDER BY w.turn, w.message LIMIT 1;
END $messaging_webhooks$;
`
