/** A message of which nothing waited has an event again, waiting or leased. */
export const ROUSE_MESSAGE = /* sql */ `
UPDATE messages
SET steps = :steps, handed = :handed, handed_open = :handedOpen, token = :token, lease_token = :leaseToken,
  holder = :holder, latest = :latest, due = :due
WHERE rowid = :message
`
