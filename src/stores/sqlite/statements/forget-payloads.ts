/** Payloads of settled events whose retention is over; a bounded step. */
export const FORGET_PAYLOADS = /* sql */ `
UPDATE events SET record = NULL, raw = NULL
WHERE seq IN (SELECT seq FROM events WHERE state = 1 AND raw IS NOT NULL AND ended_at < :before LIMIT :limit)
`
