/** Dead letters whose retention is over become settled ones; a bounded step. */
export const FORGET_DEAD = /* sql */ `
UPDATE events SET state = 1
WHERE seq IN (SELECT seq FROM events WHERE state = 2 AND ended_at < :before LIMIT :limit)
`
