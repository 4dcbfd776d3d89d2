/** A page of dead letters, oldest first: $1 and $2 are the last one's time and number, $3 how many. */
export const DEAD_LETTERS = /* sql */ `
SELECT e.seq, encode(e.id, 'hex') AS id, e.attempts, encode(e.error, 'hex') AS error, e.ended_at,
  encode(b.record, 'hex') AS record, encode(b.raw, 'hex') AS raw
FROM {schema}.events e JOIN {schema}.bodies b USING (seq)
WHERE e.state = 2 AND (e.ended_at, e.seq) > ($1::bigint, $2::bigint) ORDER BY e.ended_at, e.seq LIMIT $3::integer
`
