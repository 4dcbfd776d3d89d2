/** A lease of this token is over. Another event of the message may be in somebody's hands by now, under a lease of its own. */
export const END_LEASE = /* sql */ `
UPDATE messages
SET due = (SELECT due FROM events WHERE message = :message AND state = 0 ORDER BY ord LIMIT 1), lease_token = 0
WHERE rowid = :message AND lease_token IN (0, :token)
`
