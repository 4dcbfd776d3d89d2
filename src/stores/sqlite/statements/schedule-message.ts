/** A message that nobody holds is due when its first waiting event is; not at all where none waits. */
export const SCHEDULE_MESSAGE = /* sql */ `
UPDATE messages
SET due = (SELECT due FROM events WHERE message = :message AND state = 0 ORDER BY ord LIMIT 1), lease_token = 0
WHERE rowid = :message
`
