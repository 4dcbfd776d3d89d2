/**
 * Settles what is still held, and says when each message is due next. :now, and arrays of one entry a settlement: :keys
 * and :ids (hex), :tokens, :states (0 to be tried again, 1 settled, 2 dead), :aheads (of a retry, from now), :errors (hex).
 * Their messages are locked already. Returns id and token of what was settled.
 */
export const SETTLE = /* sql */ `
WITH given AS MATERIALIZED (
  SELECT DISTINCT ON (m.id, u.id, u.token) m.id AS message, decode(u.id, 'hex') AS id, u.token, u.state, u.ahead,
    decode(u.error, 'hex') AS error
  FROM unnest(:keys::text[], :ids::text[], :tokens::bigint[], :states::smallint[], :aheads::bigint[], :errors::text[])
    AS u (key, id, token, state, ahead, error)
  JOIN {schema}.messages m ON m.key = decode(u.key, 'hex')
), ended AS (
  UPDATE {schema}.events e SET state = g.state, error = g.error,
    due = CASE WHEN g.state = 0 THEN :now + g.ahead ELSE e.due END,
    ended_at = CASE WHEN g.state = 0 THEN NULL ELSE :now END
  FROM given g
  WHERE e.message = g.message AND e.id = g.id AND e.state = 0 AND e.token = g.token AND g.token <> 0
  RETURNING e.seq, e.message, e.id, e.token, e.state, e.due
), released AS (
  UPDATE {schema}.messages m SET lease_token = 0, due = (
    SELECT CASE WHEN x.seq IS NOT NULL THEN x.due
      WHEN e.attempts = 0 AND m.steps & e.awaits <> 0 THEN least(e.due, :now) ELSE e.due END
    FROM {schema}.events e LEFT JOIN ended x ON x.seq = e.seq
    WHERE e.message = m.id AND e.state = 0 AND (x.seq IS NULL OR x.state = 0)
    ORDER BY e.ord, e.seq LIMIT 1
  )
  FROM (SELECT message, array_agg(token) AS tokens FROM ended GROUP BY message) s
  -- Another event of the message may be in somebody's hands by now, under a lease of its own.
  WHERE m.id = s.message AND (m.lease_token = 0 OR m.lease_token = ANY (s.tokens))
)
SELECT encode(id, 'hex') AS id, token FROM ended;
`
