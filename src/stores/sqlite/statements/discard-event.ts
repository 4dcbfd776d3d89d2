/** A dead letter is settled: only its identity is kept. */
export const DISCARD_EVENT = /* sql */ `
UPDATE events SET state = 1, error = NULL, ended_at = :now WHERE seq = :seq
`
