/** A page of dead letters, oldest first, whatever is left of their events: $1 and $2 are the last one's time and number, $3 how many. */
export const DEAD_LETTERS = /* sql */ `
SELECT d.seq, encode(d.id, 'hex') AS id, d.attempts, encode(d.error, 'hex') AS error, d.ended_at,
  encode(e.record, 'hex') AS record, encode(e.raw, 'hex') AS raw
FROM {schema}.dead_letters d LEFT JOIN {schema}.events e ON e.message = d.message AND e.id = d.id
WHERE (d.ended_at, d.seq) > ($1::bigint, $2::bigint) ORDER BY d.ended_at, d.seq LIMIT $3::integer
`
