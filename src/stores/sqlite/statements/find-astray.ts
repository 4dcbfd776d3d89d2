/**
 * Events that wait, the first of each message, and that no claim would find: their message is gone, is not due, or is due at
 * another time than the event though nobody holds it; or the event's own time is absurd. A bounded step through what waits,
 * from :after on.
 */
export const FIND_ASTRAY = /* sql */ `
SELECT first.seq, lower(hex(first.id)) AS id, m.rowid IS NULL AS orphaned
FROM (
  SELECT DISTINCT message FROM events WHERE state = 0 AND message > :after ORDER BY message LIMIT :limit
) AS e
JOIN events AS first ON first.seq = (
  SELECT seq FROM events WHERE message = e.message AND state = 0 ORDER BY ord LIMIT 1
)
LEFT JOIN messages AS m ON m.rowid = e.message
WHERE m.due IS NULL OR m.due > :latest OR (m.lease_token = 0 AND m.due <> first.due) OR first.due > :latest
`
