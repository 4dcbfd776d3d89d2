/**
 * The reports of a message by its key ($1, hex) that make its latest state: the one with the greatest order and, of the
 * final ones, the $2 with the greatest. They come by order; `newest` marks the first of them.
 */
export const LATEST = /* sql */ `
WITH found AS MATERIALIZED (
  SELECT id FROM {schema}.messages WHERE key = decode($1::text, 'hex')
), newest AS (
  SELECT e.seq FROM {schema}.events e, found WHERE e.message = found.id AND e.ord <> '' ORDER BY e.ord DESC LIMIT 1
), finals AS (
  SELECT e.seq FROM {schema}.events e, found WHERE e.message = found.id AND e.ord <> '' AND e.final
  ORDER BY e.ord DESC LIMIT $2::integer
)
SELECT e.final, e.seq IN (SELECT seq FROM newest) AS newest, encode(b.record, 'hex') AS record
FROM {schema}.events e JOIN {schema}.bodies b USING (seq)
WHERE e.seq IN (SELECT seq FROM newest UNION SELECT seq FROM finals) ORDER BY e.ord
`
