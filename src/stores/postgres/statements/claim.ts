/**
 * Hands over the first event of each locked message where it is due, and puts the others where they belong in the queue.
 * :now, :lease (its end). What waits for a step that was seen does not wait, unless it was tried already. Returns the
 * claims, the longest due first.
 */
export const CLAIM = /* sql */ `
WITH locked AS MATERIALIZED (
  SELECT * FROM {schema}.messages
  WHERE id = ANY (string_to_array(current_setting('messaging_webhooks.locked'), ',')::bigint[])
), heads AS MATERIALIZED (
  SELECT l.id AS message, l.key, l.due AS since, l.token + 1 AS token, e.seq, e.id, e.ord, e.final, e.attempts, e.late, e.replay,
    CASE WHEN e.attempts = 0 AND l.steps & e.awaits <> 0 THEN least(e.due, :now) ELSE e.due END AS due
  FROM locked l LEFT JOIN LATERAL (
    SELECT * FROM {schema}.events WHERE message = l.id AND state = 0 ORDER BY ord, seq LIMIT 1
  ) e ON true
), taken AS (
  UPDATE {schema}.events e SET attempts = h.attempts + 1, token = h.token
  FROM heads h WHERE e.seq = h.seq AND h.due <= :now
), leased AS (
  UPDATE {schema}.messages m SET token = h.token, lease_token = h.token, due = :lease,
    handed = greatest(m.handed, h.ord),
    handed_open = CASE WHEN h.final THEN m.handed_open ELSE greatest(m.handed_open, h.ord) END
  FROM heads h WHERE m.id = h.message AND h.due <= :now
), rested AS (
  UPDATE {schema}.messages m SET lease_token = 0, due = h.due
  FROM heads h WHERE m.id = h.message AND (h.due IS NULL OR h.due > :now)
)
SELECT encode(h.key, 'hex') AS key, encode(h.id, 'hex') AS id, h.token, h.attempts + 1 AS attempt, h.late, h.replay,
  encode(b.record, 'hex') AS record, encode(b.raw, 'hex') AS raw
FROM heads h JOIN {schema}.bodies b USING (seq) WHERE h.due <= :now ORDER BY h.since, h.message;
`
