/** Until the lease runs out, nobody else is given anything of this message. */
export const LEASE_MESSAGE = /* sql */ `
UPDATE messages
SET token = :token, lease_token = :token, due = :until, handed = :handed, handed_open = :handedOpen
WHERE rowid = :message
`
