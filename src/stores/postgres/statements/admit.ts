/**
 * Admits a batch in one statement. :now, and arrays of one entry an event: :ids and :keys of messages, :orders (all hex),
 * :finals, :steps, :awaits, :gaps (how long one lasts from now), and where in :bytes its record begins (:starts), ends
 * where the body begins (:recordEnds), and the body ends (:bodyEnds). Returns ids and lateness of those that are new.
 *
 * The first look passes over what is known, so that a repetition writes nothing. The row of the message is locked by the
 * upsert, in the order of the keys, and tells, as it is then, what was handed over: a claim waits for that lock or is
 * waited for. Should the same event come in twice at this moment, the second finds the first by the unique index, and all
 * that it has changed of the message it would have changed to the same.
 */
export const ADMIT = /* sql */ `
WITH packed AS MATERIALIZED (
  SELECT decode(:bytes, 'hex') AS bytes
), given AS MATERIALIZED (
  SELECT place, decode(u.id, 'hex') AS id, decode(u.key, 'hex') AS key,
    convert_from(decode(u.ord, 'hex'), 'UTF8') COLLATE "C" AS ord, final = 1 AS final, step, awaits,
    :now + gap AS gap_until, starts, record_end, body_end
  FROM unnest(
    :ids::text[], :keys::text[], :orders::text[], :finals::integer[], :steps::integer[], :awaits::integer[],
    :gaps::bigint[], :starts::integer[], :recordEnds::integer[], :bodyEnds::integer[]
  ) WITH ORDINALITY AS u (id, key, ord, final, step, awaits, gap, starts, record_end, body_end, place)
  WHERE (
    SELECT e.seq FROM {schema}.messages m JOIN {schema}.events e ON e.message = m.id
    WHERE m.key = decode(u.key, 'hex') AND e.id = decode(u.id, 'hex') LIMIT 1
  ) IS NULL
), together AS (
  SELECT key, bit_or(step) AS steps FROM given GROUP BY key
), touched AS (
  INSERT INTO {schema}.messages AS m (key, steps, due)
  SELECT t.key, t.steps,
    (SELECT min(CASE WHEN g.awaits = 0 OR t.steps & g.awaits <> 0 THEN :now ELSE g.gap_until END)
     FROM given g WHERE g.key = t.key)
  FROM together t ORDER BY t.key
  ON CONFLICT (key) DO UPDATE SET steps = m.steps | excluded.steps,
    due = CASE WHEN m.lease_token = 0 THEN least(m.due, :now) ELSE m.due END
  RETURNING m.id, m.key, m.handed, m.handed_open
), judged AS (
  SELECT g.*, t.id AS message,
    g.ord <> '' AND g.ord < (CASE WHEN g.final THEN t.handed_open ELSE t.handed END) AS late
  FROM given g JOIN touched t USING (key)
), added AS (
  INSERT INTO {schema}.events (message, id, ord, final, awaits, due, late)
  SELECT message, id, ord, final, awaits, CASE WHEN late OR awaits = 0 THEN :now ELSE gap_until END, late
  FROM judged ORDER BY message, place
  ON CONFLICT (message, id) DO NOTHING
  RETURNING seq, id, late
), kept AS (
  INSERT INTO {schema}.bodies (seq, record, raw)
  SELECT seq, substring(bytes FROM starts + 1 FOR record_end - starts),
    substring(bytes FROM record_end + 1 FOR body_end - record_end)
  FROM added JOIN given USING (id), packed ORDER BY seq
)
SELECT encode(id, 'hex') AS id, late FROM added;
`
