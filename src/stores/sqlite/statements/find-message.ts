/** A message by its key. */
export const FIND_MESSAGE = /* sql */ `
SELECT rowid, steps, handed, handed_open, token, lease_token, latest, due FROM messages WHERE key = :key
`
