/** Enters a message that was not known, with its first event waiting or leased. */
export const INSERT_MESSAGE = /* sql */ `
INSERT INTO messages (key, steps, handed, handed_open, token, lease_token, holder, latest, due)
VALUES (:key, :steps, :handed, :handedOpen, :token, :leaseToken, :holder, :latest, :due)
`
