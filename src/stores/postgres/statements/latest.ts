/**
 * The reports of a message by its key ($1, hex) that make its latest state: the one with the greatest order and, of the
 * final ones, the $2 with the greatest. They come by order; `newest` marks the $3 with the greatest of all. What is no
 * order does not count.
 */
export const LATEST = /* sql */ `
WITH reports AS (
  SELECT e.id, e.ord, e.final, e.record FROM {schema}.messages m JOIN {schema}.events e ON e.message = m.id
  WHERE m.key = decode($1::text, 'hex') AND {schema}.is_order(e.ord) AND e.record IS NOT NULL
), newest AS (
  SELECT * FROM reports ORDER BY ord DESC LIMIT $3::integer
), finals AS (
  SELECT * FROM reports WHERE final ORDER BY ord DESC LIMIT $2::integer
)
SELECT final, id IN (SELECT id FROM newest) AS newest, encode(record, 'hex') AS record
FROM (SELECT * FROM newest UNION SELECT * FROM finals) AS wanted ORDER BY ord
`
