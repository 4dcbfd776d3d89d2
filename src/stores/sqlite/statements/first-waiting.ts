/** A message's first waiting event. */
export const FIRST_WAITING = /* sql */ `
SELECT seq, lower(hex(id)) AS id, ord, final, due, late, replay, attempts, record, raw FROM events
WHERE message = :message AND state = 0 ORDER BY ord LIMIT 1
`
