/** Until the lease runs out, or its holder dies, nobody else is given anything of this message. */
export const LEASE_MESSAGE = /* sql */ `
UPDATE messages
SET token = :token, lease_token = :token, holder = :holder, due = :until, handed = :handed, handed_open = :handedOpen
WHERE rowid = :message
`
