import type { Layout } from './layout.ts'

/**
 * Settles what is still held, and says when each message is due next. Arrays of one entry a settlement, sorted by key so
 * that two calls lock in one order: keys and ids (hex), tokens, states (0 to be tried again, 1 settled, 2 dead, 3 not begun),
 * aheads (of what is due again, from now), errors (hex). `slack`: so much later than its admission an event may be settled
 * while its retention counts from that. Returns, for each, 0 where it was not held, 1 where it was, and 2 where it has
 * ended and others of its message wait.
 */
export const settle = (layout: Layout): string => /* sql */ `
CREATE OR REPLACE FUNCTION {schema}.settle_{set}(
  now_ms bigint, slack bigint, keys text[], ids text[], tokens bigint[], states integer[], aheads bigint[], errors text[],
  OUT held integer[]
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $messaging_webhooks$
DECLARE
  s record;
  known record;
  was record;
  head record;
  others record;
  is_held boolean;
BEGIN
  held := '{}';
  FOR s IN
    SELECT decode(u.key, 'hex') AS key, decode(u.id, 'hex') AS id, u.token, u.state, u.ahead, u.error
    FROM unnest(keys, ids, tokens, states, aheads, errors) AS u (key, id, token, state, ahead, error)
  LOOP
    -- An admission and a claim wait for this lock, or are waited for.
    SELECT m.id, m.steps INTO known FROM {schema}.messages m WHERE m.key = s.key FOR UPDATE;
    is_held := FOUND AND s.token <> 0;
    IF is_held AND s.state = 0 THEN
      -- The token stays until the next claim: one who did not hear the answer settles again.
      UPDATE {schema}.waiting w SET due = now_ms + s.ahead, turn = NULL, leased = false
      WHERE w.message = known.id AND w.id = s.id AND w.token = s.token;
      is_held := FOUND;
    ELSIF is_held AND s.state = 3 THEN
      -- It was claimed, so it waits for no step any more: else it would be due at once where that was seen.
      UPDATE {schema}.waiting w
      SET due = now_ms + s.ahead, turn = NULL, leased = false, attempts = w.attempts - 1, token = 0, awaits = 0
      WHERE w.message = known.id AND w.id = s.id AND w.token = s.token;
      is_held := FOUND;
    ELSIF is_held THEN
      -- It is one, unless somebody has copied the row; with INTO, two would be an error.
      WITH gone AS (
        DELETE FROM {schema}.waiting w WHERE w.message = known.id AND w.id = s.id AND w.token = s.token
        RETURNING w.admitted, w.attempts, w.awaits, w.ord
      ) SELECT gone.* INTO was FROM gone LIMIT 1;
      is_held := FOUND;
      IF is_held AND s.state = 2 THEN
        PERFORM {schema}.bury_{set}(known.id, s.id, was.ord, was.awaits, was.attempts, decode(s.error, 'hex'), now_ms);
      END IF;
      IF is_held AND was.admitted < now_ms - slack THEN
        UPDATE {schema}.events v SET since = now_ms WHERE v.message = known.id AND v.id = s.id${layout.asWaited};
      END IF;
    END IF;
    IF NOT is_held THEN
      held := held || 0;
      CONTINUE;
    END IF;

    SELECT w.* INTO head FROM {schema}.waiting w WHERE w.message = known.id ORDER BY w.ord, w.id LIMIT 1;
    held := held || CASE WHEN FOUND AND s.state IN (1, 2) THEN 2 ELSE 1 END;
    CONTINUE WHEN NOT FOUND;
    -- Another event of the message may be in somebody's hands by now, under a lease of its own.
    SELECT bool_or(w.leased AND num_nonnulls(w.turn) = 1) AS is_leased, bool_or(w.id = s.id) AS is_twice INTO others
    FROM {schema}.waiting w WHERE w.message = known.id;
    CONTINUE WHEN others.is_leased;
    IF others.is_twice AND s.state IN (1, 2) THEN
      DELETE FROM {schema}.waiting w WHERE w.message = known.id AND w.id = s.id;
      SELECT w.* INTO head FROM {schema}.waiting w WHERE w.message = known.id ORDER BY w.ord, w.id LIMIT 1;
      CONTINUE WHEN NOT FOUND;
    END IF;
    UPDATE {schema}.waiting w SET turn = NULL
    WHERE w.message = known.id AND num_nonnulls(w.turn) = 1 AND (w.ord, w.id) <> (head.ord, head.id);
    UPDATE {schema}.waiting w SET turn =
      CASE WHEN w.attempts = 0 AND known.steps & w.awaits <> 0 THEN least(w.due, now_ms) ELSE w.due END
    WHERE w.message = known.id AND w.ord = head.ord AND w.id = head.id;
  END LOOP;
END $messaging_webhooks$;
`
