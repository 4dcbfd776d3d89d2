/**
 * A page of events, newest first by the time that their retention counts from: the two indexes of that have all events
 * between them. $1 and $2 are the last one's time, its message and its id (hex), $4 how many. Each is joined with what
 * changes of it, by the one key that says of which event that is.
 */
const SHOWN = /* sql */ `
SELECT e.since, e.message, encode(e.id, 'hex') AS id, encode(convert_to(e.ord, 'UTF8'), 'hex') AS ord,
  encode(e.record, 'hex') AS record, encode(e.raw, 'hex') AS raw, w.late, w.admitted,
  coalesce(w.attempts, d.attempts) AS attempts, w.leased AND num_nonnulls(w.turn) = 1 AS leased,
  CASE WHEN w.leased AND num_nonnulls(w.turn) = 1 THEN w.turn ELSE w.due END AS due,
  d.ended_at, encode(d.error, 'hex') AS error
FROM page e
  LEFT JOIN LATERAL (SELECT * FROM {schema}.waiting w WHERE w.message = e.message AND w.id = e.id LIMIT 1) w ON true
  LEFT JOIN LATERAL (SELECT * FROM {schema}.dead_letters d WHERE d.message = e.message AND d.id = e.id LIMIT 1) d ON true
ORDER BY e.since DESC, e.message DESC, e.id DESC
`
const BEFORE = `(since, message, id) < ($1::bigint, $2::bigint, decode($3::text, 'hex'))`
const NEWEST = 'ORDER BY since DESC, message DESC, id DESC LIMIT $4::integer'

export const EVENTS = /* sql */ `
WITH page AS (
  (SELECT * FROM {schema}.events WHERE raw IS NOT NULL AND since <= $1::bigint AND ${BEFORE} ${NEWEST})
  UNION ALL
  (SELECT * FROM {schema}.events WHERE raw IS NULL AND since <= $1::bigint AND ${BEFORE} ${NEWEST})
  ${NEWEST}
) ${SHOWN}`

/** Those of the message with the key $5 (hex). */
export const EVENTS_OF_MESSAGE = /* sql */ `
WITH page AS (
  SELECT * FROM {schema}.events
  WHERE message = (SELECT m.id FROM {schema}.messages m WHERE m.key = decode($5::text, 'hex')) AND ${BEFORE} ${NEWEST}
) ${SHOWN}`

/** The one with the id $5 (hex), wherever it is: no index has it without its message. */
export const EVENT = /* sql */ `
WITH page AS (
  SELECT * FROM {schema}.events WHERE id = decode($5::text, 'hex') AND ${BEFORE} ${NEWEST}
) ${SHOWN}`
