/** Identities that need not be recognised any more; a bounded step. */
export const FORGET_EVENTS = /* sql */ `
DELETE FROM events
WHERE seq IN (SELECT seq FROM events WHERE state = 1 AND raw IS NULL AND ended_at < :before LIMIT :limit)
`
