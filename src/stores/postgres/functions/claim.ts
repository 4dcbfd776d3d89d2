import type { Layout } from './layout.ts'

/**
 * Hands over to `holder_id`, until lease_until, the first event of each message of which something is due, the longest due first, at most
 * `most`; but of none in `excluded` (keys, hex), and of none that somebody else has locked: what is due and locked is being
 * admitted or settled. Returns a row for each; one with `spoilt` for each damage that it met, the place of it, and whether the
 * event is dead of it; and last, where something is due now or later, one without key whose `ahead` says how long from now.
 * With each comes what is expected of its message (hex), and whether it was overdue.
 * Where others have taken that holder for dead, it hands nothing over and returns one row, whose `spoilt` says `holder`.
 */
export const claim = (layout: Layout): string => /* sql */ `
CREATE OR REPLACE FUNCTION {schema}.claim_{set}(
  now_ms bigint, lease_until bigint, holder_id bigint, excluded text[], most integer
)
RETURNS TABLE (
  key text, id text, token bigint, attempt integer, late boolean, replay boolean, record text, raw text, ahead bigint,
  spoilt text, is_dead boolean, sent text, was_overdue boolean
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_sort = off AS $messaging_webhooks$
#variable_conflict use_column
DECLARE
  excluded_keys bytea[] := ARRAY(SELECT decode(hex, 'hex') FROM unnest(excluded) AS hex);
  held record;
  head record;
  kept record;
  mended record;
  turn_now bigint;
  head_due bigint;
  is_stuck boolean;
  claimed integer := 0;
  damaged integer := 0;
BEGIN
  IF NOT {schema}.is_holder_{set}(holder_id) THEN
    spoilt := 'holder';
    RETURN NEXT;
    RETURN;
  END IF;
  LOOP
    is_stuck := true;
    FOR held IN
      SELECT m.* FROM {schema}.waiting w JOIN {schema}.messages m ON m.id = w.message
      WHERE w.turn <= now_ms AND m.key <> ALL (excluded_keys)
      ORDER BY w.turn, w.message LIMIT most - claimed FOR UPDATE OF m SKIP LOCKED
    LOOP
      SELECT w.* INTO head FROM {schema}.waiting w WHERE w.message = held.id ORDER BY w.ord, w.id LIMIT 1;
      CONTINUE WHEN NOT FOUND;
      turn_now := head.turn;
      IF turn_now IS NULL THEN
        -- An earlier one has come since the turn was given. (Plus 0, or the index of all turns would be read.)
        SELECT max(w.turn + 0) INTO turn_now FROM {schema}.waiting w WHERE w.message = held.id AND num_nonnulls(w.turn) = 1;
      END IF;
      IF turn_now IS NULL OR turn_now > now_ms THEN
        -- Somebody was here just before it was locked; or two of a message have a turn, and one of them none by right.
        UPDATE {schema}.waiting w SET turn = NULL, leased = false
        WHERE w.message = held.id AND num_nonnulls(w.turn) = 1 AND w.turn + 0 <= now_ms;
        is_stuck := is_stuck AND NOT FOUND;
        CONTINUE;
      END IF;
      is_stuck := false;
      -- What waits for a step that was seen does not wait, unless it was tried already.
      head_due := CASE WHEN head.attempts = 0 AND held.steps & head.awaits <> 0 THEN least(head.due, now_ms) ELSE head.due END;
      IF head.turn IS NULL THEN
        UPDATE {schema}.waiting w SET turn = NULL, leased = false WHERE w.message = held.id AND num_nonnulls(w.turn) = 1;
      END IF;
      -- A time that no retry lasts is as good as now.
      IF head_due > now_ms AND head_due <= now_ms + 316224000000 THEN
        -- It stood in the queue earlier than need be: something newer came in behind a retry, say.
        UPDATE {schema}.waiting w SET turn = head_due, leased = false
        WHERE w.message = held.id AND w.ord = head.ord AND w.id = head.id;
        CONTINUE;
      END IF;
      SELECT v.ord, encode(v.record, 'hex') AS record, encode(v.raw, 'hex') AS raw INTO kept
      FROM {schema}.events v WHERE v.message = held.id AND v.id = head.id${layout.asAdmitted};
      -- Where the event is gone, all of it is null.
      IF (
        kept.ord = head.ord AND kept.record IS NOT NULL AND kept.raw IS NOT NULL AND head.attempts BETWEEN 0 AND 1000000
        AND head.token BETWEEN 0 AND held.token AND held.token <= 4503599627370496
      ) IS NOT TRUE THEN
        SELECT * INTO mended FROM {schema}.mend_{set}(held.id, head.ord, head.id, now_ms);
        damaged := damaged + 1;
        RETURN QUERY SELECT encode(held.key, 'hex'), encode(head.id, 'hex'), NULL::bigint, NULL::integer, NULL::boolean,
          NULL::boolean, NULL::text, NULL::text, NULL::bigint, mended.place, mended.is_dead, NULL::text, NULL::boolean;
        -- Where it is the first again, it is claimed in the next round.
        UPDATE {schema}.waiting w SET turn = now_ms, leased = false WHERE (w.message, w.ord, w.id) = (
          SELECT f.message, f.ord, f.id FROM {schema}.waiting f WHERE f.message = held.id ORDER BY f.ord, f.id LIMIT 1
        );
        -- A claim has an end, whatever it meets.
        EXIT WHEN damaged >= 1000;
        CONTINUE;
      END IF;
      UPDATE {schema}.waiting w SET turn = lease_until, leased = true, token = held.token + 1, attempts = w.attempts + 1,
        holder = holder_id
      WHERE w.message = held.id AND w.ord = head.ord AND w.id = head.id;
      UPDATE {schema}.messages m SET token = m.token + 1, handed = greatest(m.handed, head.ord),
        handed_open = CASE WHEN head.final THEN m.handed_open ELSE greatest(m.handed_open, head.ord) END
      WHERE m.id = held.id;
      claimed := claimed + 1;
      key := encode(held.key, 'hex');
      id := encode(head.id, 'hex');
      token := held.token + 1;
      attempt := head.attempts + 1;
      late := head.late;
      replay := head.replay;
      record := kept.record;
      raw := kept.raw;
      sent := encode(held.expected, 'hex');
      was_overdue := coalesce(held.overdue_at = 0, false);
      RETURN NEXT;
    END LOOP;
    EXIT WHEN is_stuck OR claimed >= most OR damaged >= 1000;
  END LOOP;
  RETURN QUERY
    SELECT NULL::text, NULL::text, NULL::bigint, NULL::integer, NULL::boolean, NULL::boolean, NULL::text, NULL::text,
      least(greatest(w.turn, 0) - now_ms, 316224000000), NULL::text, NULL::boolean, NULL::text, NULL::boolean
    FROM {schema}.waiting w JOIN {schema}.messages m ON m.id = w.message
    WHERE w.turn IS NOT NULL AND m.key <> ALL (excluded_keys) ORDER BY w.turn, w.message LIMIT 1;
END $messaging_webhooks$;
`
