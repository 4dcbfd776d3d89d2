/**
 * Admits a batch in one statement. $1 the caller's now, or null for the server's; $2 and $3 the time-outs of a lock and of
 * the statement. Then arrays of one entry an event: $4 ids and $5 message keys (hex), $6 orders, $7 final, $8 steps, $9
 * awaits, $10 how long a gap lasts from now, $11 where in $14 its record begins, $12 where that ends and the body begins,
 * $13 where the body ends. Returns ids and lateness of those that are new.
 *
 * The first look passes over what is known, so that a repetition writes nothing. The row of the message is locked by the
 * upsert, in the order of the keys, and tells, as it is then, what was handed over: a claim waits for that lock or is
 * waited for. Should the same event come in twice at this moment, the second finds the first by the unique index, and all
 * that it has changed of the message it would have changed to the same.
 */
export const ADMIT = /* sql */ `
WITH settings AS MATERIALIZED (
  SELECT coalesce($1::bigint, {now}) AS now,
    set_config('lock_timeout', $2::text, true),
    set_config('statement_timeout', $3::text, true),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
      ELSE current_setting('synchronous_commit') END, true)
), given AS MATERIALIZED (
  SELECT now, place, decode(u.id, 'hex') AS id, decode(u.key, 'hex') AS key, ord COLLATE "C" AS ord, final, step, awaits,
    now + gap AS gap_until, starts, record_end, body_end
  FROM settings, unnest(
    $4::text[], $5::text[], $6::text[], $7::boolean[], $8::integer[], $9::integer[], $10::bigint[],
    $11::integer[], $12::integer[], $13::integer[]
  ) WITH ORDINALITY AS u (id, key, ord, final, step, awaits, gap, starts, record_end, body_end, place)
  WHERE (
    SELECT e.seq FROM {schema}.messages m JOIN {schema}.events e ON e.message = m.id
    WHERE m.key = decode(u.key, 'hex') AND e.id = decode(u.id, 'hex') LIMIT 1
  ) IS NULL
), together AS (
  SELECT key, max(now) AS now, bit_or(step) AS steps FROM given GROUP BY key
), touched AS (
  INSERT INTO {schema}.messages AS m (key, steps, due)
  SELECT t.key, t.steps,
    (SELECT min(CASE WHEN g.awaits = 0 OR t.steps & g.awaits <> 0 THEN g.now ELSE g.gap_until END)
     FROM given g WHERE g.key = t.key)
  FROM together t ORDER BY t.key
  ON CONFLICT (key) DO UPDATE SET steps = m.steps | excluded.steps,
    due = CASE WHEN m.lease_token = 0 THEN least(m.due, (SELECT now FROM settings)) ELSE m.due END
  RETURNING m.id, m.key, m.handed, m.handed_open
), judged AS (
  SELECT g.*, t.id AS message,
    g.ord <> '' AND g.ord < (CASE WHEN g.final THEN t.handed_open ELSE t.handed END) AS late
  FROM given g JOIN touched t USING (key)
), added AS (
  INSERT INTO {schema}.events (message, id, ord, final, awaits, due, late)
  SELECT message, id, ord, final, awaits, CASE WHEN late OR awaits = 0 THEN now ELSE gap_until END, late
  FROM judged ORDER BY message, place
  ON CONFLICT (message, id) DO NOTHING
  RETURNING seq, id, late
), kept AS (
  INSERT INTO {schema}.bodies (seq, record, raw)
  SELECT seq, substring($14::bytea FROM starts + 1 FOR record_end - starts),
    substring($14::bytea FROM record_end + 1 FOR body_end - record_end)
  FROM added JOIN given USING (id) ORDER BY seq
)
SELECT encode(id, 'hex') AS id, late FROM added
`
