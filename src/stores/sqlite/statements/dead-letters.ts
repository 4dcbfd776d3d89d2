/** A page of dead letters, oldest first; the cursor is the last one's time and number. */
export const DEAD_LETTERS = /* sql */ `
SELECT seq, lower(hex(id)) AS id, attempts, error, ended_at, record, raw FROM events
WHERE state = 2 AND (ended_at, seq) > (:endedAt, :seq) ORDER BY ended_at, seq LIMIT :limit
`
