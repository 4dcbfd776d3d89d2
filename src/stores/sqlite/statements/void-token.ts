/** Whoever still has the token of this message's lease cannot settle with it. */
export const VOID_TOKEN = /* sql */ `
UPDATE events SET token = 0
WHERE message = :message AND state = 0 AND token = (SELECT lease_token FROM messages WHERE rowid = :message)
`
