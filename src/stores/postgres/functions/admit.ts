import type { Layout } from './layout.ts'

/**
 * Admits a batch, sorted by key so that two batches lock in one order. Arrays of one entry an event: keys and ids (hex),
 * orders (hex of UTF-8), finals, steps, awaits, gaps (how long one lasts from now), leasables (1 for what may be leased
 * until lease_until), and where in `bytes` its record begins (starts), ends where the body begins (record_ends), and the
 * body ends (body_ends). Returns, for each, 0 for a duplicate, 1 for new, 2 for late; and the token of its lease, or 0. Beside
 * them `spoilt`, the damages that it met: the place and the key of the message (hex), with a colon between; and `sents`, of what is
 * leased of expected messages: the place in the arrays, 1 where it was overdue or 0, and what is expected (hex), likewise.
 *
 * An event is leased, to `holder_id`, where nothing else of its message waits, and it is due; none is where others have taken that
 * holder for dead. Whoever calls says `leasable` of one event of
 * a message at most, and only if it is the only one in the batch.
 */
export const admit = (layout: Layout): string => /* sql */ `
CREATE OR REPLACE FUNCTION {schema}.admit_{set}(
  now_ms bigint, lease_until bigint, holder_id bigint, keys text[], ids text[], orders text[], finals integer[], steps integer[],
  awaits integer[], gaps bigint[], leasables integer[], bytes bytea, starts integer[], record_ends integer[],
  body_ends integer[], OUT admissions integer[], OUT tokens bigint[],
  OUT spoilt text[], OUT sents text[]
) LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $messaging_webhooks$
DECLARE
  e record;
  known record;
  turn_now record;
  message_id bigint;
  is_known boolean;
  is_late boolean;
  is_due boolean;
  lease_token bigint;${layout.declared}
  may_lease boolean := 1 = ANY (leasables) AND {schema}.is_holder_{set}(holder_id);
BEGIN
  admissions := '{}';
  tokens := '{}';
  spoilt := '{}';
  sents := '{}';
  -- What is committed is on the disk before the answer, whatever the role's default; nothing stricter is eased.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  FOR e IN
    SELECT decode(u.key, 'hex') AS key, decode(u.id, 'hex') AS id,
      convert_from(decode(u.ord, 'hex'), 'UTF8') COLLATE "C" AS ord, u.final = 1 AS final, u.step, u.await,
      now_ms + u.gap AS gap_until, may_lease AND u.leasable = 1 AS leasable,
      substring(bytes FROM u.start + 1 FOR u.record_end - u.start) AS record,
      substring(bytes FROM u.record_end + 1 FOR u.body_end - u.record_end) AS raw
    FROM unnest(keys, ids, orders, finals, steps, awaits, gaps, leasables, starts, record_ends, body_ends)
      AS u (key, id, ord, final, step, await, gap, leasable, start, record_end, body_end)
  LOOP
    is_late := false;
    is_due := e.await = 0;
    lease_token := CASE WHEN e.leasable AND is_due THEN 1 ELSE 0 END;
    INSERT INTO {schema}.messages (key, steps, handed, handed_open, token${layout.firstColumn})
    VALUES (
      e.key, e.step, CASE WHEN lease_token = 0 THEN '' ELSE e.ord END,
      CASE WHEN lease_token = 0 OR e.final THEN '' ELSE e.ord END, lease_token${layout.firstValue}
    ) ON CONFLICT (key) DO NOTHING RETURNING id INTO message_id;

    is_known := NOT FOUND;
    IF NOT is_known THEN
      INSERT INTO {schema}.events (message, id, ord, final, since, record, raw)
      VALUES (message_id, e.id, e.ord, e.final, now_ms, e.record, e.raw);
    ELSE
      -- A repetition is found before anything is locked, and writes nothing.
      ${layout.findMessage} FROM {schema}.messages m WHERE m.key = e.key;
      PERFORM FROM {schema}.events v WHERE v.message = message_id AND v.id = e.id${layout.sinceFirst};
      IF FOUND THEN
        admissions := admissions || 0;
        tokens := tokens || 0::bigint;
        CONTINUE;
      END IF;
      -- A claim and a settlement wait for this lock, or are waited for; what they did is seen from here on.
      SELECT m.* INTO known FROM {schema}.messages m WHERE m.id = message_id FOR UPDATE;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'The message was forgotten at this moment.' USING ERRCODE = 'serialization_failure';
      END IF;
      ${layout.lookAgain}INSERT INTO {schema}.events (message, id, ord, final, since, record, raw)
      VALUES (message_id, e.id, e.ord, e.final, now_ms, e.record, e.raw) ON CONFLICT${layout.unique} DO NOTHING;
      IF NOT FOUND THEN
        admissions := admissions || 0;
        tokens := tokens || 0::bigint;
        CONTINUE;
      END IF;
      is_late := e.ord <> '' AND e.ord < CASE WHEN e.final THEN known.handed_open ELSE known.handed END;
      IF is_late AND NOT {schema}.is_order_{set}(CASE WHEN e.final THEN known.handed_open ELSE known.handed END) THEN
        -- That is no order, so nothing is late to it. What is still to be handed over was not.
        spoilt := spoilt || ('messages.handed:' || encode(e.key, 'hex'));
        UPDATE {schema}.messages m SET (handed, handed_open) = (
          SELECT coalesce(max(v.ord), ''), coalesce(max(v.ord) FILTER (WHERE NOT v.final), '') FROM {schema}.events v
          WHERE v.message = message_id AND v.id <> e.id AND {schema}.is_order_{set}(v.ord)
            AND NOT EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = message_id AND w.id = v.id AND NOT w.leased)
        ) WHERE m.id = message_id RETURNING m.* INTO known;
        is_late := e.ord < CASE WHEN e.final THEN known.handed_open ELSE known.handed END;
      END IF;
      is_due := is_due OR is_late OR known.steps & e.await <> 0;
      IF known.token NOT BETWEEN 0 AND 4503599627370496 THEN
        spoilt := spoilt || ('messages.token:' || encode(e.key, 'hex'));
        known.token := {schema}.mended_token_{set}(message_id, known.token, now_ms);
        UPDATE {schema}.messages m SET token = known.token WHERE m.id = message_id;
      END IF;
      SELECT w.turn, w.leased INTO turn_now FROM {schema}.waiting w WHERE w.message = message_id AND num_nonnulls(w.turn) = 1;
      lease_token := CASE WHEN e.leasable AND is_due AND NOT FOUND THEN known.token + 1 ELSE 0 END;
      IF lease_token <> 0 THEN
        IF known.expected IS NOT NULL THEN
          sents := sents || concat(cardinality(admissions), ':', CASE WHEN known.overdue_at = 0 THEN 1 ELSE 0 END, ':', encode(known.expected, 'hex'));
        END IF;
        UPDATE {schema}.messages m SET steps = m.steps | e.step, token = lease_token, handed = greatest(m.handed, e.ord),
          handed_open = CASE WHEN e.final THEN m.handed_open ELSE greatest(m.handed_open, e.ord) END
        WHERE m.id = message_id;
      ELSIF known.steps & e.step <> e.step THEN
        UPDATE {schema}.messages m SET steps = m.steps | e.step WHERE m.id = message_id;
      END IF;
      IF turn_now IS NOT NULL THEN
        -- It goes by the turn of the others; a claim looks who is the first now, and when that is due.
        INSERT INTO {schema}.waiting (message, ord, id, final, awaits, late, admitted, due, attempts, token, turn, leased)
        VALUES (
          message_id, e.ord, e.id, e.final, e.await, is_late, now_ms,
          CASE WHEN is_late OR e.await = 0 THEN now_ms ELSE e.gap_until END, 0, 0, NULL, false
        ) ON CONFLICT DO NOTHING;
        IF turn_now.turn > now_ms AND NOT turn_now.leased THEN
          UPDATE {schema}.waiting w SET turn = now_ms WHERE w.message = message_id AND num_nonnulls(w.turn) = 1;
        END IF;
        admissions := admissions || CASE WHEN is_late THEN 2 ELSE 1 END;
        tokens := tokens || 0::bigint;
        CONTINUE;
      END IF;
    END IF;

    IF is_known THEN
      INSERT INTO {schema}.waiting (message, ord, id, final, awaits, late, admitted, due, attempts, token, turn, leased, holder)
      VALUES (
        message_id, e.ord, e.id, e.final, e.await, is_late, now_ms,
        CASE WHEN is_late OR e.await = 0 THEN now_ms ELSE e.gap_until END, CASE WHEN lease_token = 0 THEN 0 ELSE 1 END,
        lease_token, CASE WHEN lease_token <> 0 THEN lease_until WHEN is_due THEN now_ms ELSE e.gap_until END, lease_token <> 0,
        holder_id
      ) ON CONFLICT (message, ord, id) DO UPDATE SET
        -- It waited already, and its event was gone.
        due = excluded.due, attempts = excluded.attempts, token = excluded.token, turn = excluded.turn, leased = excluded.leased,
        holder = excluded.holder;
    ELSE
      INSERT INTO {schema}.waiting (message, ord, id, final, awaits, late, admitted, due, attempts, token, turn, leased, holder)
      VALUES (
        message_id, e.ord, e.id, e.final, e.await, is_late, now_ms,
        CASE WHEN is_late OR e.await = 0 THEN now_ms ELSE e.gap_until END, CASE WHEN lease_token = 0 THEN 0 ELSE 1 END,
        lease_token, CASE WHEN lease_token <> 0 THEN lease_until WHEN is_due THEN now_ms ELSE e.gap_until END, lease_token <> 0,
        holder_id
      );
    END IF;
    admissions := admissions || CASE WHEN is_late THEN 2 ELSE 1 END;
    tokens := tokens || lease_token;
  END LOOP;
END $messaging_webhooks$;
`
