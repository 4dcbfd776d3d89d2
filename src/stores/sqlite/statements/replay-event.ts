/** A dead letter waits again, its attempts counted anew. */
export const REPLAY_EVENT = /* sql */ `
UPDATE events SET state = 0, due = :now, attempts = 0, token = 0, replay = 1, late = :late, error = NULL, ended_at = NULL
WHERE seq = :seq
`
