/**
 * Who holds a lease, so that the leases of a dead process need not run out. AUTOINCREMENT, because a key that came again
 * would make one store's leases another's.
 */
export const HOLDERS = /* sql */ `
CREATE TABLE holders (holder INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT;
-- Of the last lease; it means nothing while lease_token is 0.
ALTER TABLE messages ADD COLUMN holder INTEGER;
`
