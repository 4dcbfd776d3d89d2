/** The message of a waiting event is due when its first waiting event is, and held by nobody. */
export const SCHEDULE_FIRST = /* sql */ `
UPDATE messages SET lease_token = 0, due = (
  SELECT due FROM events WHERE message = messages.rowid AND state = 0 ORDER BY ord LIMIT 1
) WHERE rowid = (SELECT message FROM events WHERE seq = :seq)
`
